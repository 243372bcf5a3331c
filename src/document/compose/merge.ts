import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';

/**
 * Two mappings merge key by key; any other pairing takes the upper value (lists wholesale, scalars,
 * null). Inputs stay as they are.
 */
export function mergeValues(lower: JsonValue, upper: JsonValue): JsonValue {
  return isObject(lower) && isObject(upper) ? mergeTrees(lower, upper) : upper;
}

export function mergeTrees(lower: JsonObject, upper: JsonObject): JsonObject {
  const merged = { ...lower };
  // Settings of one type are not meant for another.
  if (isOtherType(lower, upper)) delete merged['config'];
  for (const [key, value] of Object.entries(upper)) {
    const below = hasField(merged, key) ? merged[key] : undefined;
    setField(merged, key, below === undefined ? value : mergeValues(below, value));
  }
  return merged;
}

function isOtherType({ type: one }: JsonObject, { type: other }: JsonObject): boolean {
  return typeof one === 'string' && typeof other === 'string' && one !== other;
}
