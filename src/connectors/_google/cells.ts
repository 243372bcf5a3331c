/** Values of results of GoogleSQL, which come as texts, as values of records. */
import { withSourceText } from '../../lib/text/json-literal.ts';
import { jsonText, parseJson, stringifyJson, type JsonValue } from '../../lib/text/json.ts';

export function wholeNumber(value: JsonValue): JsonValue {
  const text = jsonText(value);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

export function float(value: JsonValue): JsonValue {
  const text = jsonText(value);
  if (text === 'Infinity' || text === '-Infinity' || text === 'NaN') return text;
  return Number(text);
}

/** What would be written in another way than the database writes it keeps its text. */
export function document(value: JsonValue): JsonValue {
  const text = jsonText(value);
  const parsed = parseJson(text);
  return parsed === null || stringifyJson(parsed) !== text ? withSourceText(parsed, text) : parsed;
}
