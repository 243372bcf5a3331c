/** The types of Oracle: as they are written, as columns of PostgreSQL, and as values of messages. */
import { Bytes, Reader } from './bytes.ts';

export const TYPE = {
  varchar: 1,
  number: 2,
  long: 8,
  rowid: 11,
  date: 12,
  raw: 23,
  longRaw: 24,
  char: 96,
  binaryFloat: 100,
  binaryDouble: 101,
  clob: 112,
  blob: 113,
  json: 119,
  timestamp: 180,
  timestampTz: 181,
  intervalYm: 182,
  intervalDs: 183,
  timestampLtz: 231,
  boolean: 252,
} as const;

export interface WireType {
  readonly num: number;
  /** 1: text of the database, 2: national text. */
  readonly form: number;
  readonly precision: number;
  readonly scale: number;
  readonly size: number;
}

export interface OracleType {
  /** Without sizes, as catalogs write it. */
  readonly name: string;
  readonly written: string;
  readonly wire: WireType;
  readonly behind: string;
}

const NO_SCALE = -127;
const LONGEST = 4000;
const MOST_BYTES_OF_A_LETTER = 4;

function wire(num: number, more: Partial<WireType> = {}): WireType {
  return { num, form: 0, precision: 0, scale: 0, size: LONGEST, ...more };
}

const TEXT = 'text COLLATE "C"';

/** `undefined` for what is no type of Oracle. */
export function parseType(text: string): OracleType | undefined {
  const written = text.trim().replaceAll(/\s+/g, ' ').toUpperCase();
  const name = written.replaceAll(/ ?\([^)]*\)/g, '').trim();
  const [first, second] = [...written.matchAll(/\(([^)]*)\)/g)].map(([, inner = '']) => inner);
  const [size, digits] = (first ?? '').split(',').map((one) => Number.parseInt(one, 10));
  const made = (behind: string, type: WireType): OracleType => ({
    name,
    written,
    wire: type,
    behind,
  });
  const length = Number.isNaN(size) ? 1 : (size ?? 1);
  const bytes = length * MOST_BYTES_OF_A_LETTER;
  switch (name) {
    case 'NUMBER':
    case 'DECIMAL': {
      if (first === undefined) return made('numeric', wire(TYPE.number, { scale: NO_SCALE }));
      const scale = digits ?? 0;
      return made(
        `numeric(${length},${scale})`,
        wire(TYPE.number, { precision: length, scale, size: 22 }),
      );
    }
    case 'INTEGER':
      return { ...(parseType('NUMBER(38,0)') as OracleType) };
    case 'FLOAT':
      return made('numeric', wire(TYPE.number, { precision: 126, scale: NO_SCALE }));
    case 'BINARY_FLOAT':
      return made('real', wire(TYPE.binaryFloat));
    case 'BINARY_DOUBLE':
      return made('double precision', wire(TYPE.binaryDouble));
    case 'VARCHAR2':
      return made(
        `varchar(${length}) COLLATE "C"`,
        wire(TYPE.varchar, { form: 1, size: /CHAR/.test(first ?? '') ? bytes : length }),
      );
    case 'NVARCHAR2':
      return made(
        `varchar(${length}) COLLATE "C"`,
        wire(TYPE.varchar, { form: 2, size: length * 2 }),
      );
    case 'CHAR':
      return made(`char(${length}) COLLATE "C"`, wire(TYPE.char, { form: 1, size: bytes }));
    case 'NCHAR':
      return made(`char(${length}) COLLATE "C"`, wire(TYPE.char, { form: 2, size: length * 2 }));
    case 'RAW':
      return made(`bytea`, wire(TYPE.raw, { size: length }));
    case 'CLOB':
      return made(TEXT, wire(TYPE.clob, { form: 1 }));
    case 'NCLOB':
      return made(TEXT, wire(TYPE.clob, { form: 2 }));
    case 'BLOB':
      return made('bytea', wire(TYPE.blob));
    case 'JSON':
      return made('jsonb', wire(TYPE.json));
    case 'ROWID':
      return made(TEXT, wire(TYPE.rowid));
    case 'BOOLEAN':
      return made('boolean', wire(TYPE.boolean));
    case 'DATE':
      return made(TEXT, wire(TYPE.date));
    case 'TIMESTAMP':
      return made(TEXT, wire(TYPE.timestamp, { scale: first === undefined ? 6 : length }));
    case 'TIMESTAMP WITH TIME ZONE':
      return made(TEXT, wire(TYPE.timestampTz, { scale: first === undefined ? 6 : length }));
    case 'TIMESTAMP WITH LOCAL TIME ZONE':
      return made(TEXT, wire(TYPE.timestampLtz, { scale: first === undefined ? 6 : length }));
    case 'INTERVAL YEAR TO MONTH':
      return made(TEXT, wire(TYPE.intervalYm, { precision: first === undefined ? 2 : length }));
    case 'INTERVAL DAY TO SECOND':
      return made(
        TEXT,
        wire(TYPE.intervalDs, {
          precision: 9,
          scale: Number(second ?? (/SECOND ?\(/.test(written) ? first : 6)),
        }),
      );
    default:
      return undefined;
  }
}

/** For expressions, of which only the type behind is known. */
export function typeOfBehind(oid: number): WireType {
  switch (oid) {
    case 16:
      return wire(TYPE.boolean);
    case 17:
      return wire(TYPE.raw);
    case 20:
    case 21:
    case 23:
    case 1700:
      return wire(TYPE.number, { scale: NO_SCALE });
    case 700:
      return wire(TYPE.binaryFloat);
    case 701:
      return wire(TYPE.binaryDouble);
    default:
      return wire(TYPE.varchar, { form: 1 });
  }
}

/** Rows with these come only after the client has said as what it wants them. */
export function isDefined({ num }: WireType): boolean {
  return num === TYPE.clob || num === TYPE.blob || num === TYPE.json;
}

const DURATION_MIDDLE = 0x80000000;
const DURATION_OFFSET = 60;
/** The time zone of the database. */
export const ZONE_MINUTES = 90;
const MOST_SHORT_BYTES = 32_767;

export interface Wanted {
  readonly num: number;
  readonly size: number;
}

/** A value as the client wants it; `text` is how PostgreSQL writes it. */
export function writeValue(
  out: Bytes,
  { num, form }: WireType,
  text: string | null,
  wanted: Wanted = { num, size: 0 },
): void {
  if (num === TYPE.rowid) writeRowid(out, text);
  else out.sized(text === null ? null : bytesOf(num, form, text));
  // An indicator and a code follow what may be long.
  if (wanted.num === TYPE.long || wanted.num === TYPE.longRaw || wanted.size > MOST_SHORT_BYTES)
    out.whole(0).whole(0);
}

function bytesOf(num: number, form: number, text: string): Buffer {
  switch (num) {
    case TYPE.number:
      return numberBytes(text);
    case TYPE.raw:
    case TYPE.blob:
      return Buffer.from(text.slice(2), 'hex');
    case TYPE.date:
    case TYPE.timestamp:
      return momentBytes(text);
    case TYPE.timestampTz:
      // The zone in which the value was written has no meaning for the instant.
      return Buffer.concat([momentBytes(text.slice(0, -1), true), Buffer.of(22, 60)]);
    case TYPE.timestampLtz:
      return momentBytes(shifted(text.slice(0, -1), ZONE_MINUTES), true);
    case TYPE.intervalYm: {
      const [, sign = '', years = '', months = ''] = /^([+-])(\d+)-(\d+)$/.exec(text) ?? [];
      const factor = sign === '-' ? -1 : 1;
      const bytes = Buffer.alloc(5);
      bytes.writeUInt32BE(DURATION_MIDDLE + factor * Number(years));
      bytes[4] = DURATION_OFFSET + factor * Number(months);
      return bytes;
    }
    case TYPE.intervalDs: {
      const parts = /^([+-])(\d+) (\d+):(\d+):(\d+)\.(\d+)$/.exec(text) ?? [];
      const factor = parts[1] === '-' ? -1 : 1;
      const bytes = Buffer.alloc(11);
      bytes.writeUInt32BE(DURATION_MIDDLE + factor * Number(parts[2]));
      for (const at of [4, 5, 6]) bytes[at] = DURATION_OFFSET + factor * Number(parts[at - 1]);
      bytes.writeUInt32BE(DURATION_MIDDLE + factor * Number((parts[6] ?? '').padEnd(9, '0')), 7);
      return bytes;
    }
    case TYPE.binaryFloat:
    case TYPE.binaryDouble:
      return floatBytes(num === TYPE.binaryFloat ? 4 : 8, Number(text));
    case TYPE.boolean:
      return text === 't' ? Buffer.of(1, 1) : Buffer.of(0);
    default:
      return form === 2 ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text);
  }
}

const FULL_PAIRS = 20;
const ENDS_NEGATIVE = 102;

function numberBytes(text: string): Buffer {
  const isNegative = text.startsWith('-');
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const left = whole.padStart(whole.length + (whole.length % 2), '0');
  const right = fraction.padEnd(fraction.length + (fraction.length % 2), '0');
  let pairs = ((left + right).match(/../g) ?? []).map(Number);
  let exponent = left.length / 2;
  const start = pairs.findIndex((pair) => pair !== 0);
  if (start === -1) return Buffer.of(0x80);
  exponent -= start;
  pairs = pairs.slice(start, pairs.findLastIndex((pair) => pair !== 0) + 1);
  const head = 192 + exponent;
  if (!isNegative) return Buffer.of(head, ...pairs.map((pair) => pair + 1));
  const end = pairs.length < FULL_PAIRS ? [ENDS_NEGATIVE] : [];
  return Buffer.of(head ^ 0xff, ...pairs.map((pair) => 101 - pair), ...end);
}

function numberText(bytes: Buffer): string {
  const [head = 0, ...rest] = bytes;
  if (rest.length === 0) return '0';
  const isNegative = (head & 0x80) === 0;
  const exponent = (isNegative ? head ^ 0xff : head) - 192;
  const ended = isNegative && rest.at(-1) === ENDS_NEGATIVE ? rest.slice(0, -1) : rest;
  const digits = ended
    .map((byte) => String(isNegative ? 101 - byte : byte - 1).padStart(2, '0'))
    .join('');
  const places = digits.length - exponent * 2;
  const sign = isNegative ? '-' : '';
  if (places <= 0) return `${sign}${digits}${'0'.repeat(-places)}`;
  const all = digits.padStart(places + 1, '0');
  return `${sign}${all.slice(0, all.length - places)}.${all.slice(all.length - places)}`;
}

/** The sign is turned, and of negative numbers all other bits, so that bytes compare as numbers. */
function floatBytes(size: 4 | 8, value: number): Buffer {
  const bytes = Buffer.alloc(size);
  if (size === 4) bytes.writeFloatBE(value);
  else bytes.writeDoubleBE(value);
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  if (isNegative) for (const at of bytes.keys()) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  else bytes[0] = (bytes[0] ?? 0) | 0x80;
  return bytes;
}

function floatValue(sent: Buffer): number {
  const bytes = Buffer.from(sent);
  if (((bytes[0] ?? 0) & 0x80) === 0)
    for (const at of bytes.keys()) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  else bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.length === 4 ? bytes.readFloatBE() : bytes.readDoubleBE();
}

function momentBytes(text: string, isLong = false): Buffer {
  const [, year = '', ...parts] =
    /^(-?\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  const [month, day, hour, minute, second] = parts.map(Number);
  const nanos = Number((parts[5] ?? '').padEnd(9, '0'));
  const head = Buffer.of(
    Math.trunc(Number(year) / 100) + 100,
    (Number(year) % 100) + 100,
    month ?? 0,
    day ?? 0,
    (hour ?? 0) + 1,
    (minute ?? 0) + 1,
    (second ?? 0) + 1,
  );
  if (nanos === 0 && !isLong) return head;
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(nanos);
  return Buffer.concat([head, tail]);
}

function shifted(text: string, minutes: number): string {
  const [head = '', fraction = ''] = text.split('.');
  const moment = new Date(Date.parse(`${head}Z`) + minutes * 60_000).toISOString().slice(0, 19);
  return `${moment}.${fraction}`;
}

function writeRowid(out: Bytes, text: string | null): void {
  if (text === null) {
    out.u8(0);
    return;
  }
  const digit = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const read = (part: string): number =>
    part.split('').reduce((sum, letter) => sum * 64 + digit.indexOf(letter), 0);
  out
    .u8(1)
    .whole(read(text.slice(0, 6)))
    .whole(read(text.slice(6, 9)))
    .u8(0)
    .whole(read(text.slice(9, 15)))
    .whole(read(text.slice(15)));
}

/** How a bound value is described before the rows. */
export interface Bound {
  readonly num: number;
  readonly form: number;
  readonly size: number;
}

export interface BoundValue {
  readonly value: string | null;
  /** The type behind. */
  readonly cast: string;
  readonly isLob?: true;
}

const IS_NULL_TRUTH = 253;

export function readBound(
  input: Reader,
  { num, form }: Bound,
  lobOf: (locator: Buffer) => Buffer,
): BoundValue {
  switch (num) {
    case TYPE.varchar:
    case TYPE.char:
    case TYPE.long: {
      const bytes = input.sized();
      const text =
        bytes && (form === 2 ? Buffer.from(bytes).swap16().toString('utf16le') : bytes.toString());
      return { value: text, cast: 'text' };
    }
    case TYPE.number: {
      const bytes = input.sized();
      return { value: bytes && numberText(bytes), cast: 'numeric' };
    }
    case TYPE.binaryDouble: {
      const bytes = input.sized();
      return { value: bytes && String(floatValue(bytes)), cast: 'double precision' };
    }
    case TYPE.raw:
    case TYPE.longRaw: {
      const bytes = input.sized();
      return { value: bytes && `\\x${bytes.toString('hex')}`, cast: 'bytea' };
    }
    case TYPE.clob:
    case TYPE.blob: {
      const locator = input.whole() === 0 ? null : input.sized();
      const bytes = locator && lobOf(locator);
      if (num === TYPE.blob)
        return { value: bytes && `\\x${bytes.toString('hex')}`, cast: 'bytea', isLob: true };
      return { value: bytes && bytes.toString(), cast: 'text', isLob: true };
    }
    case TYPE.boolean: {
      const size = input.u8();
      if (size === IS_NULL_TRUTH) {
        input.u8();
        return { value: null, cast: 'boolean' };
      }
      return { value: input.take(size)[0] === 1 ? 't' : 'f', cast: 'boolean' };
    }
    default:
      throw new Error(`the server of the tests reads no values of type ${num}`);
  }
}
