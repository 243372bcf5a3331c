/**
 * The client makes JavaScript numbers of decimals and money, and objects of times, which lose
 * digits. This reads such values of the protocol as texts with all of their digits; everything else
 * is left to the client.
 */
import { createRequire } from 'node:module';
import { ConnectorError } from '../../lib/errors.ts';
import { integer } from '../_sql/value-decoders.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { shortestFloat } from '../../lib/text/shortest-float.ts';

/** What the client knows of a column, as far as values depend on it. */
interface Metadata {
  readonly type: { readonly name: string };
  readonly scale?: number | undefined;
}

interface Read {
  readonly value: unknown;
  readonly offset: number;
}

type ReadValue = (buffer: Buffer, offset: number, metadata: Metadata, options: unknown) => Read;

interface Parser {
  readValue: ReadValue & { readonly [MARK]?: true };
}

interface Helpers {
  readonly Result: new (value: unknown, offset: number) => Read;
  readonly NotEnoughDataError: new (bytes: number) => Error;
}

const MARK = Symbol('reads exact values');

/** Has the client read exact values from now on. */
export function readExactValues(): void {
  const require = createRequire(import.meta.url);
  let parser: Partial<Parser>;
  let helpers: Partial<Helpers>;
  try {
    parser = require('tedious/lib/value-parser.js') as Partial<Parser>;
    helpers = require('tedious/lib/token/helpers.js') as Partial<Helpers>;
  } catch (cause) {
    throw unknownVersion(cause);
  }
  const { readValue } = parser;
  const { Result, NotEnoughDataError } = helpers;
  if (readValue?.[MARK] === true) return;
  if (readValue === undefined || Result === undefined || NotEnoughDataError === undefined)
    throw unknownVersion();
  parser.readValue = Object.assign(exactly(readValue, { Result, NotEnoughDataError }), {
    [MARK]: true as const,
  });
}

function unknownVersion(cause?: unknown): ConnectorError {
  return new ConnectorError(
    'refused',
    'the installed version of its client (tedious) is not known: numbers would lose digits',
    { hint: 'npm install tedious@20.3.9', cause },
  );
}

/** Types of which every value has the same size; before values of other types stands their size. */
const SIZES: Readonly<Record<string, number>> = {
  BigInt: 8,
  Real: 4,
  Money: 8,
  SmallMoney: 4,
  DateTime: 8,
  SmallDateTime: 4,
};
const SIZED: ReadonlySet<string> = new Set([
  'IntN',
  'FloatN',
  'MoneyN',
  'DateTimeN',
  'NumericN',
  'DecimalN',
  'Time',
  'Date',
  'DateTime2',
  'DateTimeOffset',
]);

function exactly(original: ReadValue, { Result, NotEnoughDataError }: Helpers): ReadValue {
  const need = (buffer: Buffer, end: number): void => {
    if (buffer.length < end) throw new NotEnoughDataError(end);
  };
  return (buffer, offset, metadata, options) => {
    const { name } = metadata.type;
    if (name === 'Variant') {
      need(buffer, offset + 4);
      const size = buffer.readUInt32LE(offset);
      need(buffer, offset + 4 + size);
      const value = variantValue(buffer.subarray(offset + 4, offset + 4 + size));
      return value === undefined
        ? original(buffer, offset, metadata, options)
        : new Result(value, offset + 4 + size);
    }
    let size = SIZES[name];
    let from = offset;
    if (size === undefined) {
      if (!SIZED.has(name)) return original(buffer, offset, metadata, options);
      need(buffer, offset + 1);
      size = buffer.readUInt8(offset);
      from += 1;
    }
    const end = from + size;
    need(buffer, end);
    if (size === 0) return new Result(null, end);
    return new Result(exactValue(name, buffer.subarray(from, end), metadata.scale ?? 0), end);
  };
}

/** The value of these bytes, in the form of records. */
export function exactValue(type: string, bytes: Buffer, scale: number): JsonValue {
  switch (type) {
    case 'BigInt':
    case 'IntN':
      return wholeNumber(bytes);
    case 'Real':
    case 'FloatN':
      return bytes.length === 4 ? shortestFloat(bytes.readFloatLE()) : bytes.readDoubleLE();
    case 'Money':
    case 'SmallMoney':
    case 'MoneyN':
      return decimalText(moneyTicks(bytes), MONEY_SCALE);
    case 'NumericN':
    case 'DecimalN': {
      const size = unsigned(bytes.subarray(1));
      return decimalText(bytes[0] === 1 ? size : -size, scale);
    }
    case 'DateTime':
    case 'SmallDateTime':
    case 'DateTimeN':
      return bytes.length === 4 ? smallDateTime(bytes) : dateTime(bytes);
    case 'Time':
      return clockText(unsigned(bytes), scale);
    case 'Date':
      return dayText(bytes.readUIntLE(0, DAY_BYTES));
    case 'DateTime2':
      return momentText(bytes, bytes.length - DAY_BYTES, scale);
    default:
      // The moment itself is in UTC; behind it stands the zone in which it was written.
      return `${momentText(bytes, bytes.length - DAY_BYTES - ZONE_BYTES, scale)}Z`;
  }
}

const MONEY_SCALE = 4;
const DAY_BYTES = 3;
const ZONE_BYTES = 2;

function wholeNumber(bytes: Buffer): JsonValue {
  switch (bytes.length) {
    case 1:
      return bytes.readUInt8();
    case 2:
      return bytes.readInt16LE();
    case 4:
      return bytes.readInt32LE();
    default:
      return integer(String(bytes.readBigInt64LE()));
  }
}

function moneyTicks(bytes: Buffer): bigint {
  if (bytes.length === 4) return BigInt(bytes.readInt32LE());
  return (BigInt(bytes.readInt32LE(0)) << 32n) + BigInt(bytes.readUInt32LE(4));
}

function unsigned(bytes: Buffer): bigint {
  let value = 0n;
  for (let at = bytes.length - 1; at >= 0; at -= 1) value = (value << 8n) + BigInt(bytes[at] ?? 0);
  return value;
}

function decimalText(ticks: bigint, scale: number): string {
  const digits = String(ticks < 0n ? -ticks : ticks).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = scale === 0 ? '' : `.${digits.slice(point)}`;
  return `${ticks < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`;
}

const DAY_MS = 86_400_000;
/** Days from the first of the calendar to 1970. */
const EPOCH_DAYS = 719_162;
/** Days from 1900 to 1970. */
const DAYS_1900 = 25_567;

function dayText(days: number): string {
  return new Date((days - EPOCH_DAYS) * DAY_MS).toISOString().slice(0, 10);
}

function clockText(ticks: bigint, scale: number): string {
  const unit = 10n ** BigInt(scale);
  const secs = Number(ticks / unit);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const fraction = scale === 0 ? '' : `.${String(ticks % unit).padStart(scale, '0')}`;
  return `${two(secs / 3600)}:${two((secs / 60) % 60)}:${two(secs % 60)}${fraction}`;
}

function momentText(bytes: Buffer, clockBytes: number, scale: number): string {
  const day = dayText(bytes.readUIntLE(clockBytes, DAY_BYTES));
  return `${day}T${clockText(unsigned(bytes.subarray(0, clockBytes)), scale)}`;
}

/** Its unit is the 300th part of a second. */
function dateTime(bytes: Buffer): string {
  const millis = Math.round((bytes.readUInt32LE(4) * 10) / 3);
  return new Date((bytes.readInt32LE(0) - DAYS_1900) * DAY_MS + millis).toISOString().slice(0, -1);
}

function smallDateTime(bytes: Buffer): string {
  const minutes = bytes.readUInt16LE(2) * 60_000;
  return new Date((bytes.readUInt16LE(0) - DAYS_1900) * DAY_MS + minutes)
    .toISOString()
    .slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
}

/** Types inside of `sql_variant` whose values lose digits, by their numbers. */
const IN_VARIANT: Readonly<Record<number, string>> = {
  0x28: 'Date',
  0x29: 'Time',
  0x2a: 'DateTime2',
  0x2b: 'DateTimeOffset',
  0x3a: 'SmallDateTime',
  0x3b: 'Real',
  0x3c: 'Money',
  0x3d: 'DateTime',
  0x6a: 'DecimalN',
  0x6c: 'NumericN',
  0x7a: 'SmallMoney',
};

/** `undefined` for types that the client reads exactly. */
function variantValue(bytes: Buffer): JsonValue | undefined {
  const type = IN_VARIANT[bytes[0] ?? 0];
  if (type === undefined) return undefined;
  const properties = bytes[1] ?? 0;
  // The scale is the last property of all types that have one.
  const scale = properties === 0 ? 0 : (bytes[1 + properties] ?? 0);
  return exactValue(type, bytes.subarray(2 + properties), scale);
}
