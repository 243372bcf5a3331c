import { jsonEqual, type JsonValue } from './text/json.ts';

/**
 * Membership by JSON equality; scalars are looked up, only values that may equal something of
 * another kind are compared one by one.
 */
export function memberOf(values: readonly JsonValue[]): (value: JsonValue | undefined) => boolean {
  const exact = new Set<JsonValue | undefined>(values);
  const others = values.filter((value) => !isPlain(value));
  return (value) =>
    exact.has(value) || (!isPlain(value) && others.some((other) => jsonEqual(other, value)));
}

function isPlain(value: JsonValue | undefined): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value) || !Number.isInteger(value);
  return typeof value !== 'bigint' && (typeof value !== 'object' || value === null);
}
