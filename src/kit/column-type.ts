import type { JsonValue } from '../lib/text/json.ts';
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
