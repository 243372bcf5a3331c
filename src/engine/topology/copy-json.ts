import { isLiteral, sourceText, withSourceText } from '../../lib/text/json-literal.ts';
import { keepSpellings } from '../../lib/text/number-spelling.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** A copy that shares nothing with the value. */
export function copyJson<T extends JsonValue>(value: T): T;
export function copyJson(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null || isLiteral(value)) return value;
  const copy = Array.isArray(value) ? value.map((item) => copyJson(item)) : copyFields(value);
  keepSpellings(value, copy);
  const text = sourceText(value);
  return text === undefined ? copy : withSourceText(copy, text);
}

function copyFields(value: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setField(copy, key, copyJson(item));
  return copy;
}
