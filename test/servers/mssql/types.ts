/** Types of SQL Server on the wire: their description, and values made of texts. */
import { Bytes, Reader } from './bytes.ts';

export interface WireType {
  /** `decimal`, `nvarchar`, … */
  readonly name: string;
  /** Letters or bytes; -1 without a limit. */
  readonly length: number;
  readonly precision: number;
  readonly scale: number;
}

/** A type as a statement writes it: `decimal(18,4)`. */
export function parseType(written: string): WireType {
  const [, word = '', first, second] =
    /^\s*\[?(\w+)\]?\s*(?:\(\s*(\w+)\s*(?:,\s*(\d+)\s*)?\))?/i.exec(written) ?? [];
  const name = SYNONYMS[word.toLowerCase()] ?? word.toLowerCase();
  const size = first === undefined ? undefined : /max/i.test(first) ? -1 : Number(first);
  if (name === 'decimal')
    return { name, length: 0, precision: size ?? 18, scale: Number(second ?? 0) };
  const timed = /^(?:time|datetime2|datetimeoffset)$/.test(name);
  const isOpen = /^(?:text|ntext|xml|image|sql_variant)$/.test(name);
  return {
    name,
    length: timed ? 0 : (size ?? (isOpen ? -1 : 1)),
    precision: 0,
    scale: timed ? (size ?? 7) : 0,
  };
}

const SYNONYMS: Readonly<Record<string, string>> = {
  integer: 'int',
  numeric: 'decimal',
  dec: 'decimal',
  sysname: 'nvarchar',
};

/** Latin1_General, code page 1252. */
const COLLATION = Buffer.of(0x09, 0x04, 0xd0, 0x00, 0x34);
const MAX = 0xffff;

export function writeTypeInfo(out: Bytes, type: WireType): void {
  const { name, length, precision, scale } = type;
  const sized = (code: number, unit: number): Bytes =>
    out.u8(code).u16(length === -1 ? MAX : length * unit);
  switch (name) {
    case 'tinyint':
      return void out.u8(0x26).u8(1);
    case 'smallint':
      return void out.u8(0x26).u8(2);
    case 'int':
      return void out.u8(0x26).u8(4);
    case 'bigint':
      return void out.u8(0x26).u8(8);
    case 'bit':
      return void out.u8(0x68).u8(1);
    case 'real':
      return void out.u8(0x6d).u8(4);
    case 'float':
      return void out.u8(0x6d).u8(8);
    case 'decimal':
      return void out.u8(0x6a).u8(17).u8(precision).u8(scale);
    case 'money':
      return void out.u8(0x6e).u8(8);
    case 'smallmoney':
      return void out.u8(0x6e).u8(4);
    case 'datetime':
      return void out.u8(0x6f).u8(8);
    case 'smalldatetime':
      return void out.u8(0x6f).u8(4);
    case 'date':
      return void out.u8(0x28);
    case 'time':
      return void out.u8(0x29).u8(scale);
    case 'datetime2':
      return void out.u8(0x2a).u8(scale);
    case 'datetimeoffset':
      return void out.u8(0x2b).u8(scale);
    case 'uniqueidentifier':
      return void out.u8(0x24).u8(16);
    case 'varbinary':
    case 'image':
      return void sized(0xa5, 1);
    case 'binary':
      return void sized(0xad, 1);
    case 'varchar':
    case 'text':
      return void sized(0xa7, 1).raw(COLLATION);
    case 'char':
      return void sized(0xaf, 1).raw(COLLATION);
    case 'nchar':
      return void sized(0xef, 2).raw(COLLATION);
    default:
      return void sized(0xe7, 2).raw(COLLATION);
  }
}

const PLP_NULL = 0xffff_ffff_ffff_ffffn;

/** `text` is the value as the database behind writes it. */
export function writeValue(out: Bytes, type: WireType, text: string | null): void {
  const { name, length, scale } = type;
  if (/char|binary|text|image|xml|variant/.test(name)) {
    const bytes = text === null ? undefined : contentOf(name, text, length);
    if (length === -1) {
      if (bytes === undefined) return void out.u64(PLP_NULL);
      out.u64(BigInt(bytes.length));
      if (bytes.length > 0) out.u32(bytes.length).raw(bytes);
      return void out.u32(0);
    }
    if (bytes === undefined) return void out.u16(MAX);
    return void out.u16(bytes.length).raw(bytes);
  }
  if (text === null) return void out.u8(0);
  const bytes = fixedBytes(name, text, scale);
  out.u8(bytes.length).raw(bytes);
}

function contentOf(name: string, text: string, length: number): Buffer {
  if (/binary|image/.test(name)) return Buffer.from(text.replace(/^\\x/, ''), 'hex');
  const padded = /^n?char$/.test(name) && length > 0 ? text.padEnd(length) : text;
  return /^(?:var)?char$|^text$/.test(name)
    ? Buffer.from(padded, 'latin1')
    : Buffer.from(padded, 'utf16le');
}

function fixedBytes(name: string, text: string, scale: number): Buffer {
  const whole = (size: number): Buffer => {
    const bytes = Buffer.alloc(size);
    if (size === 8) bytes.writeBigInt64LE(BigInt(text));
    else bytes.writeIntLE(Number(text), 0, size);
    return bytes;
  };
  switch (name) {
    case 'tinyint':
      return Buffer.of(Number(text));
    case 'smallint':
      return whole(2);
    case 'int':
      return whole(4);
    case 'bigint':
      return whole(8);
    case 'bit':
      return Buffer.of(text === 't' || text === '1' ? 1 : 0);
    case 'real': {
      const bytes = Buffer.alloc(4);
      bytes.writeFloatLE(Number(text));
      return bytes;
    }
    case 'float': {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(Number(text));
      return bytes;
    }
    case 'decimal': {
      const ticks = ticksOf(text, scale);
      return Buffer.concat([
        Buffer.of(ticks < 0n ? 0 : 1),
        little(ticks < 0n ? -ticks : ticks, 16),
      ]);
    }
    case 'money': {
      const ticks = BigInt.asUintN(64, ticksOf(text, 4));
      return Buffer.concat([little(ticks >> 32n, 4), little(ticks & 0xffff_ffffn, 4)]);
    }
    case 'smallmoney':
      return little(BigInt.asUintN(32, ticksOf(text, 4)), 4);
    case 'datetime': {
      const [days, ms] = [daysSince(text, 1900), Date.parse(`1970-01-01T${text.slice(11)}Z`)];
      const bytes = Buffer.alloc(8);
      bytes.writeInt32LE(days);
      bytes.writeUInt32LE(Math.round((ms * 3) / 10), 4);
      return bytes;
    }
    case 'smalldatetime': {
      const minutes = Number(text.slice(11, 13)) * 60 + Number(text.slice(14, 16));
      return Buffer.concat([little(BigInt(daysSince(text, 1900)), 2), little(BigInt(minutes), 2)]);
    }
    case 'date':
      return little(BigInt(daysSince(text, 1)), 3);
    case 'time':
      return clockBytes(text, scale);
    case 'datetime2':
      return Buffer.concat([
        clockBytes(text.slice(11), scale),
        little(BigInt(daysSince(text, 1)), 3),
      ]);
    case 'datetimeoffset':
      return Buffer.concat([
        clockBytes(text.slice(11), scale),
        little(BigInt(daysSince(text, 1)), 3),
        Buffer.alloc(2),
      ]);
    case 'uniqueidentifier':
      return guidBytes(text);
    default:
      throw new Error(`the server of the tests does not know the type ${name}`);
  }
}

function ticksOf(text: string, scale: number): bigint {
  const [, sign, whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const size = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'));
  return sign === '-' ? -size : size;
}

function little(value: bigint, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at += 1) bytes[at] = Number((value >> BigInt(at * 8)) & 0xffn);
  return bytes;
}

const DAY_MS = 86_400_000;

function daysSince(text: string, year: number): number {
  const first = new Date(0);
  first.setUTCFullYear(year, 0, 1);
  return Math.round((Date.parse(`${text.slice(0, 10)}T00:00:00Z`) - first.getTime()) / DAY_MS);
}

function clockBytes(text: string, scale: number): Buffer {
  const [, hours, minutes, secs = '0', fraction = ''] =
    /^(\d\d):(\d\d)(?::(\d\d))?(?:\.(\d+))?/.exec(text) ?? [];
  const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(secs);
  const ticks =
    BigInt(whole) * 10n ** BigInt(scale) + BigInt(fraction.slice(0, scale).padEnd(scale, '0') || 0);
  return little(ticks, scale <= 2 ? 3 : scale <= 4 ? 4 : 5);
}

function guidBytes(text: string): Buffer {
  const plain = Buffer.from(text.replaceAll('-', ''), 'hex');
  return Buffer.concat([
    plain.subarray(0, 4).reverse(),
    plain.subarray(4, 6).reverse(),
    plain.subarray(6, 8).reverse(),
    plain.subarray(8),
  ]);
}

/** A value that the client sends, as the database behind takes it. */
export interface SentValue {
  readonly cast: string;
  readonly value: string | null;
}

interface SentType {
  readonly code: number;
  readonly length: number;
}

export function readTypeInfo(from: Reader): SentType {
  const code = from.u8();
  switch (code) {
    case 0x26:
    case 0x68:
    case 0x6d:
      return { code, length: from.u8() };
    case 0x38:
      return { code, length: 4 };
    case 0x7f:
      return { code, length: 8 };
    case 0xe7: {
      const length = from.u16();
      from.take(5);
      return { code, length };
    }
    case 0xa5:
      return { code, length: from.u16() };
    default:
      throw new Error(`the server of the tests does not take values of type ${code.toString(16)}`);
  }
}

export function readSent(from: Reader, { code, length }: SentType): SentValue {
  switch (code) {
    case 0x26: {
      const size = from.u8();
      if (size === 0) return { cast: 'bigint', value: null };
      const value = size === 8 ? from.take(8).readBigInt64LE() : from.take(size).readIntLE(0, size);
      return { cast: 'bigint', value: String(value) };
    }
    case 0x38:
      return { cast: 'bigint', value: String(from.take(4).readInt32LE()) };
    case 0x7f:
      return { cast: 'bigint', value: String(from.take(8).readBigInt64LE()) };
    case 0x68:
      return { cast: 'boolean', value: from.u8() === 0 ? null : String(from.u8() === 1) };
    case 0x6d: {
      const size = from.u8();
      if (size === 0) return { cast: 'double precision', value: null };
      const bytes = from.take(size);
      return {
        cast: 'double precision',
        value: String(size === 8 ? bytes.readDoubleLE() : bytes.readFloatLE()),
      };
    }
    default: {
      const bytes = length === MAX ? chunked(from) : sizedBytes(from);
      const cast = code === 0xa5 ? 'bytea' : 'text';
      if (bytes === undefined) return { cast, value: null };
      return {
        cast,
        value: code === 0xa5 ? `\\x${bytes.toString('hex')}` : bytes.toString('utf16le'),
      };
    }
  }
}

function sizedBytes(from: Reader): Buffer | undefined {
  const size = from.u16();
  return size === MAX ? undefined : from.take(size);
}

function chunked(from: Reader): Buffer | undefined {
  if (from.u64() === PLP_NULL) return undefined;
  const parts: Buffer[] = [];
  for (;;) {
    const size = from.u32();
    if (size === 0) return Buffer.concat(parts);
    parts.push(from.take(size));
  }
}
