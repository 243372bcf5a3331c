/** Values as the columns of GoogleSQL take them; `undefined` for what a column does not hold. */
import { isBase64 } from '../../kit/typed-values.ts';
import { jsonText, type JsonValue } from '../../lib/text/json.ts';
import { decimalText, isNumberText, numberText } from '../_sql/value-texts.ts';

/** Letters, not units of UTF-16. */
export function limitedText(value: JsonValue, most = Infinity): string | undefined {
  const text = jsonText(value);
  return text.length <= most || Array.from(text).length <= most ? text : undefined;
}

/** As base64. */
export function bytesText(value: JsonValue, most = Infinity): string | undefined {
  if (typeof value !== 'string' || !isBase64(value)) return undefined;
  return Buffer.from(value, 'base64').length <= most ? value : undefined;
}

export const INT64_MAX = 2n ** 63n - 1n;

export function wholeText(value: JsonValue): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0';
  const digits = decimalText(numberText(value), { precision: 19, scale: 0 });
  if (digits === undefined || hasFraction(value)) return undefined;
  const whole = BigInt(digits);
  return whole <= INT64_MAX && whole >= -INT64_MAX - 1n ? digits : undefined;
}

function hasFraction(value: JsonValue): boolean {
  const digits = numberText(value);
  return (
    decimalText(digits, { precision: 60, scale: 40 })?.replace(/\.0*$/, '').includes('.') === true
  );
}

const NOT_FINITE: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);

export function floatText(value: JsonValue): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0.0' : String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  const digits = numberText(value);
  return isNumberText(digits) || NOT_FINITE.has(digits) ? digits : undefined;
}
