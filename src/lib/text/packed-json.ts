/**
 * Values as one text that gives back all of them: numbers as they were written, documents with
 * their own text, and the JSON null apart from no value. A structured clone knows none of these.
 */
import { sourceText, withSourceText } from './json-literal.ts';
import { parseData, setField, stringifyJson, type JsonObject, type JsonValue } from './json.ts';
import { holdsSpelling } from './number-spelling.ts';

type Path = (string | number)[];
/** Where a value stands, and its own text. */
type Note = [Path, string];

/** Whether a structured clone of the values would lose something. */
export function needsPacking(values: readonly JsonValue[]): boolean {
  return values.some((value) => holdsSpelling(value) || holdsText(value));
}

function holdsText(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return sourceText(value) !== undefined || Object.values(value).some(holdsText);
}

export function packJson(values: readonly JsonValue[]): string {
  const notes: Note[] = [];
  collect(values as JsonValue[], [], notes);
  return stringifyJson([values as JsonValue[], notes]);
}

export function unpackJson(text: string): JsonValue[] {
  const [values, notes] = parseData(text) as [JsonValue[], Note[]];
  // What lies inside comes after what holds it, and a document keeps its text when it is filled in.
  for (const [path, own] of notes) restore(values, path, own);
  return values;
}

function collect(value: JsonValue, path: Path, notes: Note[]): void {
  if (typeof value !== 'object' || value === null) return;
  const text = sourceText(value);
  if (text !== undefined) notes.push([path, text]);
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) collect(item, [...path, index], notes);
  else for (const [key, item] of Object.entries(value)) collect(item, [...path, key], notes);
}

function restore(values: JsonValue[], path: Path, text: string): void {
  let holder: JsonValue = values;
  for (const step of path.slice(0, -1)) holder = at(holder, step);
  const last = path.at(-1) ?? 0;
  const own = withSourceText(at(holder, last), text);
  if (Array.isArray(holder)) holder[Number(last)] = own;
  else setField(holder as JsonObject, String(last), own);
}

function at(holder: JsonValue, step: string | number): JsonValue {
  return (holder as Record<string | number, JsonValue>)[step] ?? null;
}
