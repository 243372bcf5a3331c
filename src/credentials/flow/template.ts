/** `${name}` in the texts of a login. */
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

const NAME = /\$\{([A-Za-z_]\w*)\}/g;

/** Names that every request has: seconds and milliseconds since 1970, and a text used once. */
export const PER_REQUEST = ['ts', 'ts_ms', 'nonce'] as const;

export type TemplateValues = ReadonlyMap<string, string>;

export function namesIn(value: JsonValue): string[] {
  if (typeof value === 'string') return [...value.matchAll(NAME)].map(([, name = '']) => name);
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return isObject(value) ? Object.values(value).flatMap(namesIn) : [];
}

export function filled(template: string, values: TemplateValues): string {
  return template.replaceAll(NAME, (whole, name: string) => values.get(name) ?? whole);
}

export function filledJson(value: JsonValue, values: TemplateValues): JsonValue {
  if (typeof value === 'string') return filled(value, values);
  if (Array.isArray(value)) return value.map((item) => filledJson(item, values));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [name, item] of Object.entries(value)) setField(copy, name, filledJson(item, values));
  return copy;
}
