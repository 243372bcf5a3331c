/** What is written into a JSON column. */
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';

/** A text that is a JSON object or list is stored as such; any other text becomes a JSON string. */
export function documentOrText(value: JsonValue): string | null {
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
