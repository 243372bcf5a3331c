import { jsonText, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

/**
 * An object with the keys as text, and the JSON of keys that are not scalar. A map with repeated keys,
 * which an object cannot hold, becomes a list of `{key, value}`.
 */
export function mapOfEntries(
  entries: readonly { readonly key: JsonValue; readonly value: JsonValue }[],
): JsonValue {
  const out: JsonObject = {};
  for (const { key, value } of entries) setField(out, jsonText(key), value);
  if (Object.keys(out).length === entries.length) return out;
  return entries.map(({ key, value }) => {
    const entry: JsonObject = { key };
    setField(entry, 'value', value);
    return entry;
  });
}
