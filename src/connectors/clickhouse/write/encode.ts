/**
 * Values as the server reads them in JSONEachRow. What a column cannot hold is refused here: the
 * server takes 300 for a column of bytes, and stores 44.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import {
  hasField,
  isObject,
  jsonText,
  stringifyJson,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { isCalendarDate } from '../../../lib/time/rfc3339.ts';
import {
  booleanText,
  decimalText,
  isNumberText,
  numberText,
  withoutExponent,
} from '../../_sql/value-texts.ts';
import { bareType, parseType, type ClickhouseType } from '../types/parse-type.ts';

/** Gives JSON, or `undefined` for a value that the type does not hold. Never called for null. */
type Encode = (value: JsonValue) => string | undefined;

/** The JSON of a value of the column. Throws a `ConnectorError` where it does not fit. */
export function encoderOf(name: string, sqlType: string): (value: JsonValue) => string {
  const type = parseType(sqlType);
  const { isNullable } = bareType(type);
  const encode = encodeFor(type);
  return (written) => {
    const value = isLiteral(written) ? literalValue(written) : written;
    if (value === null) {
      if (isNullable) return 'null';
      throw misfit(name, sqlType, 'null');
    }
    const text = encode(value);
    if (text !== undefined) return text;
    throw misfit(name, sqlType, shown(value));
  };
}

const LONGEST_SHOWN = 80;

function shown(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

function misfit(name: string, sqlType: string, value: string): ConnectorError {
  return new ConnectorError(
    'data',
    `the column \`${name}\` is ${sqlType}, which cannot hold ${value}`,
    {
      hint: 'change the value with a transform, or the type of the column',
    },
  );
}

function encodeFor(written: ClickhouseType): Encode {
  const { type } = bareType(written);
  const { name, args } = type;
  const [, unsigned, bits] = /^(U?)Int(\d+)$/.exec(name) ?? [];
  if (bits !== undefined) return integerWithin(Number(bits), unsigned === 'U');
  if (name.startsWith('Decimal')) return decimalOf(type);
  switch (name) {
    case 'Bool':
      return booleanText;
    case 'Float32':
    case 'Float64':
    case 'BFloat16':
      return float;
    case 'Date':
      return dayWithin('1970-01-01', '2149-06-06');
    case 'Date32':
      return dayWithin('1900-01-01', '2299-12-31');
    case 'DateTime':
    case 'DateTime32':
      return timeWithin(0, 0xffff_ffff, 0);
    case 'DateTime64':
      return timeWithin(EARLIEST, LATEST, Number(args[0]?.text ?? 3));
    case 'Array':
    case 'Nested':
    case 'Tuple':
    case 'Map':
      return nested(type);
    default:
      return DOCUMENTS.test(name) ? stringifyJson : asText;
  }
}

const DOCUMENTS =
  /^(?:JSON|Object|Variant|Dynamic|Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon|Geometry|QBit)$/;

function asText(value: JsonValue): string {
  return JSON.stringify(jsonText(value));
}

const WHOLE = /^-?\d+$/;

function integerWithin(bits: number, isUnsigned: boolean): Encode {
  const lowest = isUnsigned ? 0n : -(2n ** BigInt(bits - 1));
  const highest = 2n ** BigInt(isUnsigned ? bits : bits - 1) - 1n;
  const [low, high] = [Number(lowest), Number(highest)];
  return (value) => {
    if (Number.isSafeInteger(value) && (value as number) >= low && (value as number) <= high)
      return jsonText(value);
    if (typeof value === 'boolean') return value ? '1' : '0';
    const digits = numberText(value);
    if (!WHOLE.test(digits)) return undefined;
    const whole = BigInt(digits);
    return whole >= lowest && whole <= highest ? String(whole) : undefined;
  };
}

/** Digits that have no room are rounded here: servers cut them, or refuse the whole page. */
function decimalOf({ name, args }: ClickhouseType): Encode {
  const numbers = args.map((arg) => Number(arg.text));
  const [precision, scale = 0] = name === 'Decimal' ? numbers : [MOST_DIGITS[name], numbers[0]];
  return (value) => decimalText(value, { precision: precision ?? 0, scale: scale ?? 0 });
}

const MOST_DIGITS: Readonly<Record<string, number>> = {
  Decimal32: 9,
  Decimal64: 18,
  Decimal128: 38,
  Decimal256: 76,
};
const NOT_FINITE: Readonly<Record<string, string>> = {
  NaN: '"nan"',
  Infinity: '"inf"',
  '-Infinity': '"-inf"',
};

function float(value: JsonValue): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0.0' : String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  const digits = numberText(value);
  if (isNumberText(digits)) return digits;
  return NOT_FINITE[digits];
}

const DAY = /^(\d{4}-\d{2}-\d{2})(?:$|[T ])/;

function dayWithin(first: string, last: string): Encode {
  return (value) => {
    const day = typeof value === 'string' ? DAY.exec(value)?.[1] : undefined;
    return day !== undefined && day >= first && day <= last && isDay(day)
      ? JSON.stringify(day)
      : undefined;
  };
}

/** The server takes 30 February for 1 March, and the 13th month for 1970. */
function isDay(day: string): boolean {
  const [month, date] = [day.slice(5, 7), day.slice(8)];
  const isPlain = month >= '01' && month <= '12' && date >= '01' && date <= '28';
  return isPlain || isCalendarDate(day);
}

const TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d+))?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i;
const SECONDS = 1000;
const EARLIEST = Date.UTC(1900, 0, 1) / SECONDS;
const LATEST = Date.UTC(2300, 0, 1) / SECONDS - 1;

/**
 * An instant is told in UTC, a clock without a zone as it is: the server reads it in the zone of the
 * column. A number is seconds since 1970.
 */
// oxlint-disable-next-line max-params
function timeWithin(first: number, last: number, digits: number): Encode {
  return (value) => {
    const found = typeof value === 'string' ? TIME.exec(value) : null;
    const [, day = '', clock = '00:00', fraction = '', zone] = found ?? [];
    const moment = Date.parse(`${day}T${clock}${/^[+-]/.test(zone ?? '') ? zone : 'Z'}`);
    const seconds = Math.floor(typeof value === 'number' ? value : moment / SECONDS);
    if (!(seconds >= first && seconds <= last) || (found !== null && !isDay(day))) return undefined;
    const utc = new Date(seconds * SECONDS).toISOString().slice(0, 19);
    const part = typeof value === 'number' ? fractionOf(value) : fraction;
    const rest = digits === 0 || part === '' ? '' : `.${part.slice(0, digits)}`;
    return typeof value !== 'number' && zone === undefined
      ? `"${utc.replace('T', ' ')}${rest}"`
      : `"${utc}${rest}Z"`;
  };
}

/** Digits of what is beyond the second before: those that are written, which differences lose. */
function fractionOf(value: number): string {
  const text = String(value);
  const [, fraction = ''] = (withoutExponent(text) ?? text).split('.');
  if (value >= 0 || fraction === '') return fraction;
  return String(10n ** BigInt(fraction.length) - BigInt(fraction)).padStart(fraction.length, '0');
}

function nested(type: ClickhouseType): Encode {
  const { name, args, names } = type;
  const parts = args.map((arg) => {
    const { isNullable } = bareType(arg);
    const encode = encodeFor(arg);
    return (value: JsonValue): string | undefined =>
      value === null ? (isNullable ? 'null' : undefined) : encode(value);
  });
  const tuple: Encode = (value) => {
    const items = Array.isArray(value) ? value : isObject(value) ? partsOf(value, names) : [];
    if (items.length !== parts.length) return undefined;
    // A field that the column lacks would be lost.
    if (isObject(value) && Object.keys(value).length > items.length) return undefined;
    return joined(items.map((item, at) => parts[at]?.(item)));
  };
  const [first, second] = parts;
  switch (name) {
    case 'Array':
      return (value) =>
        Array.isArray(value) && first !== undefined ? joined(value.map(first)) : undefined;
    case 'Nested':
      return (value) => (Array.isArray(value) ? joined(value.map(tuple)) : undefined);
    case 'Map':
      return (value) => (second === undefined ? undefined : mapText(value, second));
    default:
      return tuple;
  }
}

function partsOf(
  value: { readonly [name: string]: JsonValue | undefined },
  names: readonly string[],
): JsonValue[] {
  return names.filter((name) => hasField(value as never, name)).map((name) => value[name] ?? null);
}

function joined(items: readonly (string | undefined)[]): string | undefined {
  return items.includes(undefined) ? undefined : `[${items.join(',')}]`;
}

/** Keys of other types than texts are told as `{key, value}`. */
function mapText(value: JsonValue, encode: Encode): string | undefined {
  const entries = Array.isArray(value)
    ? value.map((one): readonly [JsonValue, JsonValue] =>
        isObject(one) ? [one['key'] ?? null, one['value'] ?? null] : [null, null],
      )
    : isObject(value)
      ? Object.entries(value)
      : undefined;
  if (entries === undefined || entries.some(([key]) => key === null)) return undefined;
  const texts = entries.map(([key, item]) => {
    const one = encode(item);
    return one === undefined ? undefined : `${asText(key)}:${one}`;
  });
  return texts.includes(undefined) ? undefined : `{${texts.join(',')}}`;
}
