import type { SQLInputValue } from 'node:sqlite';
import { parseJson, stringifyJson, type JsonValue } from '../text/json.ts';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/**
 * A JSON value as SQLite stores it: whole numbers as INTEGER, booleans as 0 or 1, nested values as
 * JSON text.
 */
export function toSqlite(value: JsonValue): SQLInputValue {
  switch (typeof value) {
    case 'number':
      // The driver would store a plain number as REAL.
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'bigint':
      return value <= INT64_MAX && value >= INT64_MIN ? value : value.toString();
    case 'boolean':
      return value ? 1n : 0n;
    case 'object':
      return value === null ? null : stringifyJson(value);
    default:
      return value;
  }
}

/** Reads a stored value; `declared` is the column's declared type. */
export function fromSqlite(stored: unknown, declared: string | null): JsonValue {
  switch (typeof stored) {
    case 'bigint':
      if (declared !== null && /^bool/i.test(declared)) return stored !== 0n;
      return Number.isSafeInteger(Number(stored)) ? Number(stored) : stored;
    case 'number':
      return Number.isFinite(stored) ? stored : null;
    case 'string':
      return fromText(stored);
    default:
      return stored instanceof Uint8Array ? Buffer.from(stored).toString('base64') : null;
  }
}

/** Text that is JSON becomes the value it encodes; anything else stays text. */
function fromText(text: string): JsonValue {
  if (!/^[\s]*[[{"\-0-9tfn]/.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
