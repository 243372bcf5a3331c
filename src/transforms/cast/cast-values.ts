import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';

/** The converted value, or `undefined` when there is none. */
export type Conversion = (value: JsonValue) => JsonValue | undefined;

export const CONVERSIONS = {
  int: toInt,
  float: toFloat,
  bool: toBool,
  string: toText,
  timestamp: toTimestamp,
} as const;

const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;

function toInt(value: JsonValue): JsonValue | undefined {
  switch (typeof value) {
    case 'number':
      if (Number.isSafeInteger(value)) return value;
      return Number.isInteger(value) ? inRange(BigInt(value)) : undefined;
    case 'bigint':
      return inRange(value);
    case 'boolean':
      return value ? 1 : 0;
    case 'string': {
      const digits = value.trim();
      return /^[+-]?[0-9]+$/.test(digits) ? inRange(BigInt(digits.replace('+', ''))) : undefined;
    }
    default:
      return undefined;
  }
}

/** Safe integers are plain numbers everywhere in the product; only larger ones are `bigint`. */
function inRange(value: bigint): number | bigint | undefined {
  if (value < INT_MIN || value > INT_MAX) return undefined;
  const plain = Number(value);
  return Number.isSafeInteger(plain) ? plain : value;
}

function toFloat(value: JsonValue): JsonValue | undefined {
  switch (typeof value) {
    case 'number':
      return value;
    case 'bigint':
      return Number(value);
    case 'boolean':
      return value ? 1 : 0;
    case 'string': {
      const digits = value.trim();
      if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(digits)) return undefined;
      const parsed = Number(digits);
      return Number.isFinite(parsed) ? parsed : undefined;
    }
    default:
      return undefined;
  }
}

const WITH_COMMA = /^([+-]?)(\d{1,3}(?:[. \u00a0]\d{3})+|\d*)(?:,(\d*))?$/;

/** A number with a comma before its fraction; any other text is no number with a point either. */
export function withPoint(text: string): string {
  const [, sign, whole, fraction] = WITH_COMMA.exec(text.trim()) ?? [];
  if (whole === undefined) return '';
  return `${sign}${whole.replaceAll(/\D/g, '')}${fraction === undefined ? '' : `.${fraction}`}`;
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['y', true],
  ['false', false],
  ['0', false],
  ['no', false],
  ['n', false],
]);

function toBool(value: JsonValue): JsonValue | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value === 1 ? true : value === 0 ? false : undefined;
  return typeof value === 'string' ? WORDS.get(value.trim().toLowerCase()) : undefined;
}

function toText(value: JsonValue): JsonValue | undefined {
  if (typeof value === 'string') return value;
  return value === null || typeof value === 'object' ? undefined : stringifyJson(value);
}

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:([Zz])|([+-])(\d{2}):(\d{2}))$/;

function toTimestamp(value: JsonValue): JsonValue | undefined {
  if (typeof value !== 'string') return undefined;
  const match = RFC_3339.exec(value);
  if (match === null) return undefined;
  const [
    ,
    year = '',
    month = '',
    day = '',
    hour = '',
    minute = '',
    second = '',
    digits = '',
    ,
    sign = '+',
    hours = '00',
    minutes = '00',
  ] = match;
  if (!isDate(Number(year), Number(month), Number(day))) return undefined;
  // 60 is a leap second.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const fraction = digits.replace(/0+$/, '');
  const zone = hours === '00' && minutes === '00' ? 'Z' : `${sign}${hours}:${minutes}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction === '' ? '' : `.${fraction}`}${zone}`;
}

function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day <= days;
}
