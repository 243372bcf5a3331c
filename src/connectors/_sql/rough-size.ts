import { isObject, type JsonValue } from '../../lib/text/json.ts';

/** Approximate size of a value when encoded. */
export function roughSize(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 2;
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + roughSize(item) + 1, 2);
  if (isObject(value))
    return Object.entries(value).reduce(
      (sum, [name, item]) => sum + name.length + 4 + roughSize(item),
      2,
    );
  return 8;
}
