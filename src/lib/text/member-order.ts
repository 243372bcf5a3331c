/**
 * The order in which a JSON text has the members of an object. The object itself does not tell it
 * for names that may be the index of an array: JavaScript lists those first, by their number
 * (ECMAScript, OrdinaryOwnPropertyKeys).
 */
import { isObject, parseJson, stringifyJson, type JsonObject, type JsonValue } from './json.ts';
import { spellingOf } from './number-spelling.ts';

/** Of an array; the last index is one less. */
const MOST_ITEMS = 2 ** 32 - 1;

/** Whether an object lists the name before all others. */
export function isListedFirst(name: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(name) && Number(name) < MOST_ITEMS;
}

/** Whether the order of the members was lost when the object was parsed. */
export function isReordered(value: JsonValue): boolean {
  if (!isObject(value)) return false;
  // The first name tells it, and a loop gives it without a list of all.
  for (const name in value) return isListedFirst(name);
  return false;
}

/** What stands outside of texts, and texts with the colon that makes them names. */
const TOKEN = /[{}[\]]|(?<text>"[^"\\]*(?:\\.[^"\\]*)*")(?<colon>\s*:)?/gs;

/**
 * Names of the members of an object, or of all objects of an array, in the order in which they first
 * stand in the text.
 */
export function memberNames(json: string): readonly string[] {
  const names = new Set<string>();
  let depth = 0;
  const wanted = json.trimStart().startsWith('[') ? 2 : 1;
  for (const { 0: token, groups } of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === wanted && groups?.['colon'] !== undefined)
      names.add(parseJson(groups['text'] ?? token) as string);
  }
  return [...names];
}

/** As `stringifyJson`, with the members in this order. */
export function stringifyMembers(
  record: JsonObject,
  names: readonly string[],
  indent?: number,
): string {
  if (names.length === 0) return '{}';
  const texts = names.map((name) => {
    const value = spellingOf(record, name) ?? stringifyJson(record[name] ?? null, indent);
    return [JSON.stringify(name), value] as const;
  });
  if (indent === undefined) return `{${texts.map((member) => member.join(':')).join(',')}}`;
  const [line, space] = ['\n', ' '.repeat(indent)];
  // Texts have no line feeds of their own: these are between members of the value.
  const members = texts.map(([name, text]) => `${name}: ${text.replaceAll(line, line + space)}`);
  return `{${line}${space}${members.join(`,${line}${space}`)}${line}}`;
}
