import type { JsonValue } from './json.ts';

/** The escape of a surrogate: UTF-8 text can have one in no other way. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Whether a text in a JSON value is no Unicode text, because one half of a surrogate pair stands
 * alone in it (RFC 8259, 8.2). `text` is what the value was read from.
 */
export function holdsHalfCharacter(text: string, value: JsonValue): boolean {
  return ESCAPED_SURROGATE.test(text) && holdsHalf(value);
}

function holdsHalf(value: JsonValue): boolean {
  if (typeof value === 'string') return !value.isWellFormed();
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsHalf);
  return Object.entries(value).some(([key, entry]) => !key.isWellFormed() || holdsHalf(entry));
}
