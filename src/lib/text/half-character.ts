import type { JsonValue } from './json.ts';

/** How people are told of it. */
export const HALF_CHARACTER = {
  one: 'a text holds half of a character (an unpaired surrogate): it stays in JSON, and becomes U+FFFD where texts are UTF-8, as in databases and Parquet',
  all: 'texts of records held half of a character (an unpaired surrogate)',
  hint: 'have characters written whole, an escaped one as two escapes such as `\\ud83d\\ude00`',
} as const;

/** The escape of a surrogate: UTF-8 text can have one in no other way. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/** Whether JSON as UTF-8 may have such an escape. */
export function hasEscapedSurrogate(bytes: Uint8Array): boolean {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return json.includes('\\ud') || json.includes('\\uD');
}

/**
 * Whether a text in a JSON value is no Unicode text, because one half of a surrogate pair stands
 * alone in it (RFC 8259, 8.2). `text` is what the value was read from.
 */
export function holdsHalfCharacter(text: string, value: JsonValue): boolean {
  return ESCAPED_SURROGATE.test(text) && hasHalfCharacter(value);
}

/** The same where nobody has the text any more. */
export function hasHalfCharacter(value: JsonValue): boolean {
  if (typeof value === 'string') return !value.isWellFormed();
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasHalfCharacter);
  for (const key in value)
    if (!key.isWellFormed() || hasHalfCharacter(value[key] ?? null)) return true;
  return false;
}
