/** Texts of values for columns of numbers and booleans; `undefined` for what such a column does not hold. */
import { jsonText, type JsonValue } from '../../lib/text/json.ts';

/** `1e3` and `12.0` are whole numbers too. */
export function numberText(value: JsonValue): string {
  if (typeof value === 'number')
    return Number.isInteger(value) ? BigInt(value).toString() : String(value);
  return typeof value === 'object' ? '' : jsonText(value).trim();
}

const PLAIN = /^-?\d+(?:\.\d+)?$/;
const WRITTEN = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d+)$/;

export function isNumberText(digits: string): boolean {
  return PLAIN.test(digits) || WRITTEN.test(digits);
}

/** Rounded to the scale: databases cut digits that have no room, or refuse the whole page. */
export function decimalText(
  value: JsonValue,
  { precision, scale }: { readonly precision: number; readonly scale: number },
): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0';
  const digits = typeof value === 'number' ? String(value) : numberText(value);
  const plain = PLAIN.test(digits) ? digits : withoutExponent(digits);
  if (plain === undefined) return undefined;
  const ticks = ticksOf(plain, scale);
  const isNegative = ticks < 0n;
  const size = isNegative ? -ticks : ticks;
  if (size >= 10n ** BigInt(precision)) return undefined;
  const all = String(size).padStart(scale + 1, '0');
  const point = all.length - scale;
  const fraction = scale === 0 ? '' : `.${all.slice(point)}`;
  return `${isNegative ? '-' : ''}${all.slice(0, point)}${fraction}`;
}

const HALF = '5';

/** The number in units of its last digit, with halves rounded away from zero. */
function ticksOf(plain: string, scale: number): bigint {
  const isNegative = plain.startsWith('-');
  const [whole = '', fraction = ''] = (isNegative ? plain.slice(1) : plain).split('.');
  const isUp = (fraction[scale] ?? '0') >= HALF;
  const size = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0')) + (isUp ? 1n : 0n);
  return isNegative ? -size : size;
}

const LONGEST_EXPONENT = 400;

/** The number without a power of ten; `undefined` where it has none. */
export function withoutExponent(digits: string): string | undefined {
  const [match, sign = '', whole = '', fraction = '', exponent = '0'] = WRITTEN.exec(digits) ?? [];
  const power = Number(exponent);
  if (match === undefined || Math.abs(power) > LONGEST_EXPONENT) return undefined;
  const point = whole.length + power;
  const all = whole + fraction;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${all}`;
  const padded = all.padEnd(point, '0');
  const rest = padded.slice(point);
  return `${sign}${padded.slice(0, point)}${rest === '' ? '' : `.${rest}`}`;
}

export function booleanText(value: JsonValue): string | undefined {
  switch (typeof value === 'string' ? value.toLowerCase() : value) {
    case true:
    case 'true':
    case 1:
    case '1':
      return 'true';
    case false:
    case 'false':
    case 0:
    case '0':
      return 'false';
    default:
      return undefined;
  }
}
