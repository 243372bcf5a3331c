/** Converts values of data without types to the form of a logical type. Nothing is rounded or cut. */
import { documentFromText } from '../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../lib/text/json.ts';
import { isCalendarDate } from '../lib/time/rfc3339.ts';
import type { DecimalType, RecordType, TimestampType } from './record-schema.ts';
import { hasTypeForm, NOT_FINITE } from './typed-values.ts';

/** `undefined` for a value that does not fit. */
type Convert = (value: JsonValue) => JsonValue | undefined;

export function valueConverter(type: RecordType, fromText: boolean): Convert {
  const convert = converterFor(type, fromText);
  return (value) => {
    if (value === null) return null;
    if (fromText && value === '' && type.kind !== 'utf8') return null;
    const converted = convert(value);
    return converted !== undefined && hasTypeForm(converted, type) ? converted : undefined;
  };
}

/**
 * The same, for a type that nobody declared: a value that would not be written back as it was does
 * not fit. Times may be written with a space instead of `T`.
 */
export function exactConverter(type: RecordType, fromText: boolean): Convert {
  const convert = valueConverter(type, fromText);
  return (value) => {
    const converted = convert(value);
    if (converted === undefined || converted === value || converted === null) return converted;
    if (typeof value !== 'string') return undefined;
    if (type.kind === 'timestamp')
      return converted === value.replace(' ', 'T') ? converted : undefined;
    return fromText && typeof converted !== 'object' && String(converted) === value
      ? converted
      : undefined;
  };
}

function converterFor(type: RecordType, fromText: boolean): Convert {
  switch (type.kind) {
    case 'utf8':
      return jsonText;
    case 'bool':
      return (value) => (typeof value === 'string' ? WORDS.get(value.toLowerCase()) : value);
    case 'float32':
    case 'float64':
      return toFloat;
    case 'decimal':
      return (value) => toDecimal(value, type);
    case 'date':
      return (value) => (typeof value === 'string' && isCalendarDate(value) ? value : undefined);
    case 'timestamp':
      return (value) => toTimestamp(value, type);
    case 'uuid':
      return (value) => (typeof value === 'string' ? value.toLowerCase() : undefined);
    case 'binary':
    case 'time':
    case 'interval':
      return (value) => value;
    case 'json':
    case 'list':
    case 'struct':
    case 'map':
      return fromText ? documentFromText : (value) => value;
    default:
      return toWhole;
  }
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['t', true],
  ['1', true],
  ['false', false],
  ['f', false],
  ['0', false],
]);

function toWhole(value: JsonValue): JsonValue | undefined {
  if (typeof value !== 'string') return value;
  if (!/^[+-]?\d+$/.test(value)) return undefined;
  const whole = BigInt(value.replace(/^\+/, ''));
  const plain = Number(whole);
  return Number.isSafeInteger(plain) ? plain : whole;
}

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d*))?$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function toFloat(value: JsonValue): JsonValue | undefined {
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? Number(value) : undefined;
  if (typeof value !== 'string' || NOT_FINITE.has(value)) return value;
  const parsed = NUMBER.test(value) ? Number(value) : Number.NaN;
  return Number.isFinite(parsed) ? parsed : undefined;
}

/** The digits as they are; more of them than the type has do not fit. */
function toDecimal(value: JsonValue, { precision, scale = 0 }: DecimalType): JsonValue | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
    return undefined;
  const [, sign = '', whole, fraction = ''] = DECIMAL.exec(String(value)) ?? [];
  if (whole === undefined) return undefined;
  const digits = whole.replace(/^0+(?=\d)/, '');
  const room = (precision ?? Infinity) - scale;
  const isLarge = digits !== '0' && digits.length > room;
  if (precision !== undefined && (isLarge || fraction.replace(/0+$/, '').length > scale))
    return undefined;
  return `${sign === '-' ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}`;
}

const MOMENT =
  /^(\d{4}-\d{2}-\d{2})[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?(?:([Zz])|([+-]\d{2}:\d{2}))?$/;

/** Digits of a second; further ones do not fit, unless they are zeros. */
export const UNIT_DIGITS = { s: 0, ms: 3, us: 6, ns: 9 } as const;

function toTimestamp(value: JsonValue, { unit, zone }: TimestampType): JsonValue | undefined {
  if (typeof value !== 'string') return undefined;
  const [, date, hour, minute, second, fraction = '', utc, offset] = MOMENT.exec(value) ?? [];
  if (date === undefined || !isCalendarDate(date)) return undefined;
  if (fraction.replace(/0+$/, '').length - 1 > UNIT_DIGITS[unit]) return undefined;
  const clock = `${date}T${hour}:${minute}:${second}${fraction}`;
  if (zone === undefined) return utc === undefined && offset === undefined ? clock : undefined;
  if (offset !== undefined) return `${clock}${offset}`;
  // Without an offset only a time in UTC names an instant for certain.
  return utc !== undefined || zone === 'UTC' ? `${clock}Z` : undefined;
}
