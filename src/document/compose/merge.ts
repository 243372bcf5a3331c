import { hasField, isObject, setField, type JsonObject } from '../../lib/text/json.ts';

/** Whether the mapping is (a part of) the settings of a connector or another part. */
type Place = 'structure' | 'settings';

/**
 * Two mappings merge key by key; any other pairing takes the upper value (lists wholesale, scalars,
 * null). What belongs to one `type` is not meant for another: `config` beside it goes, and within
 * settings, where a type stands beside its own fields, all of them. Inputs stay as they are.
 */
export function mergeTrees(
  lower: JsonObject,
  upper: JsonObject,
  place: Place = 'structure',
): JsonObject {
  const isOther = isOtherType(lower, upper);
  if (isOther && place === 'settings') return { ...upper };
  const merged = { ...lower };
  if (isOther) delete merged['config'];
  for (const [key, value] of Object.entries(upper)) {
    const below = hasField(merged, key) ? merged[key] : undefined;
    const inside = place === 'settings' || key === 'config' ? 'settings' : 'structure';
    setField(
      merged,
      key,
      isObject(below) && isObject(value) ? mergeTrees(below, value, inside) : value,
    );
  }
  return merged;
}

/** Types of settings may be written in several ways: `page_number` is `PageNumber`. */
function isOtherType({ type: one }: JsonObject, { type: other }: JsonObject): boolean {
  return typeof one === 'string' && typeof other === 'string' && bare(one) !== bare(other);
}

function bare(type: string): string {
  return type.toLowerCase().replaceAll(/[_-]/g, '');
}
