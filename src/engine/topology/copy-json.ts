import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** A copy that shares nothing with the value. */
export function copyJson<T extends JsonValue>(value: T): T;
export function copyJson(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setField(copy, key, copyJson(item));
  return copy;
}
