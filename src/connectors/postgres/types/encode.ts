/** Converts JSON values to text that the column's type can read. */
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import type { LiveColumn } from '../../_sql/driver.ts';

export type Encoder = (value: JsonValue) => string | null;

export function encoderOf(column: Pick<LiveColumn, 'sqlType'>): Encoder {
  if (column.sqlType === 'json' || column.sqlType === 'jsonb') return jsonText;
  if (column.sqlType.endsWith('[]'))
    return (value) => (Array.isArray(value) ? arrayText(value) : plainText(value));
  return plainText;
}

/** For values that already are text. */
export function finishedText(value: JsonValue): string | null {
  return typeof value === 'string' ? value : plainText(value);
}

function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  return typeof value === 'object' ? stringifyJson(value) : String(value);
}

/** A text that is a JSON object or list is stored as such; any other text becomes a JSON string. */
function jsonText(value: JsonValue): string | null {
  if (value === null) return null;
  return typeof value === 'string' && spellsJson(value) ? value : stringifyJson(value);
}

function spellsJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function arrayText(items: readonly JsonValue[]): string {
  const parts = items.map((item) => {
    if (item === null) return 'NULL';
    if (Array.isArray(item)) return arrayText(item);
    return `"${(plainText(item) ?? '').replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${parts.join(',')}}`;
}

const COPY_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

const NEEDS_ESCAPE = /[\\\n\r\t]/;

/** Rows in the text form of COPY. */
export function copyLines(
  rows: readonly (readonly JsonValue[])[],
  encoders: readonly Encoder[],
): string {
  let text = '';
  for (const row of rows) {
    for (let index = 0; index < encoders.length; index += 1) {
      if (index > 0) text += '\t';
      const value = encoders[index]?.(row[index] ?? null) ?? null;
      text += value === null ? '\\N' : escaped(value);
    }
    text += '\n';
  }
  return text;
}

/** A text as a value in the text form of COPY. */
export function escaped(text: string): string {
  return NEEDS_ESCAPE.test(text)
    ? text.replace(/[\\\n\r\t]/g, (char) => COPY_ESCAPES[char] ?? char)
    : text;
}
