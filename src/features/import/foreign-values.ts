/** Values of foreign documents, which hold what they like. */
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** A mapping at a place; empty where there is none. */
export function mappingAt(value: unknown, ...keys: readonly string[]): JsonObject {
  let at = value as JsonValue | undefined;
  for (const key of keys) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  return isObject(at) ? at : {};
}

/** Texts, numbers and truth values as text. */
export function textOf(value: unknown, otherwise = ''): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : otherwise;
}

export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** `["sales", "my.orders"]` of `sales."my.orders"`. */
export function nameParts(name: string): readonly string[] {
  return [...name.matchAll(/"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^."`]+)/g)].map(
    ([, double, back, plain]) =>
      double?.replaceAll('""', '"') ?? back?.replaceAll('``', '`') ?? plain ?? '',
  );
}
