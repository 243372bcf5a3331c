import { exactNumber } from '../lib/text/exact-number.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import { spellingOf } from '../lib/text/number-spelling.ts';
import type { ColumnType } from './sink.ts';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** The neutral column type of a value; `undefined` for null. */
export function columnTypeOf(value: JsonValue): ColumnType | undefined {
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isSafeInteger(value) ? 'integer' : 'number';
    case 'bigint':
      // Integers beyond 64 bits are stored as text, to keep them exact.
      return value <= INT64_MAX && value >= INT64_MIN ? 'integer' : 'string';
    case 'string':
      return 'string';
    default:
      if (value === null) return undefined;
      return Array.isArray(value) ? 'array' : 'object';
  }
}

/**
 * The same for a field of a record, or an item of a list: `1.0` is no whole number, and a number that no double holds is
 * stored as text, to keep it exact.
 */
export function columnTypeIn(
  holder: JsonObject | JsonValue[],
  field: string,
): ColumnType | undefined {
  const value = (holder as JsonObject)[field] ?? null;
  const type = columnTypeOf(value);
  const text = typeof value === 'number' ? spellingOf(holder, field) : undefined;
  if (text === undefined) return type;
  if (exactNumber(value as number, text) === undefined) return 'string';
  return /[.eE]/.test(text) ? 'number' : type;
}

/** Whether a number is the same as a double; not so for many whole numbers beyond 2^53. */
export function isExactDouble(value: JsonValue | undefined): boolean {
  return typeof value !== 'bigint' || BigInt(Number(value)) === value;
}
