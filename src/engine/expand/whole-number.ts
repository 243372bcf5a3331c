import type { JsonValue } from '../../lib/text/json.ts';

/** Databases give exact numbers as text; `undefined` where it is no whole number. */
export function wholeNumber(value: JsonValue): bigint | undefined {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
    return BigInt(value);
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined;
}
