/**
 * Values as one text that gives back all of them: numbers as they were written, documents with
 * their own text, and the JSON null apart from no value. A structured clone knows none of these.
 */
import { sourceText, withSourceText } from './json-literal.ts';
import { parseData, setField, stringifyJson, type JsonObject, type JsonValue } from './json.ts';
import { holdsSpelling } from './number-spelling.ts';

type Path = (string | number)[];
/**
 * Where a value stands, and its own text; null for a number that JSON gives back as another one: the
 * zero below zero, and whole doubles that are read as bigints.
 */
type Note = [Path, string | null];

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
  return unpackValues(parseData(text));
}

/** One object as one line, which begins like a list where it had to be packed. */
export function packObject(value: JsonObject): string {
  const notes: Note[] = [];
  collect([value], [], notes);
  return stringifyJson(notes.length === 0 ? value : [[value], notes]);
}

/** From a line that is parsed already. */
export function unpackObject(line: JsonValue): JsonValue {
  return Array.isArray(line) ? (unpackValues(line)[0] ?? null) : line;
}

function unpackValues(packed: JsonValue): JsonValue[] {
  const [values, notes] = packed as unknown as [JsonValue[], Note[]];
  // What lies inside comes after what holds it, and a document keeps its text when it is filled in.
  for (const [path, own] of notes) restore(values, path, own);
  return values;
}

function collect(value: JsonValue, path: Path, notes: Note[]): void {
  if (typeof value === 'number' && isAnotherInJson(value)) notes.push([path, null]);
  if (typeof value !== 'object' || value === null) return;
  const text = sourceText(value);
  if (text !== undefined) notes.push([path, text]);
  const items = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [step, item] of items) if (mayHaveNotes(item)) collect(item, [...path, step], notes);
}

function mayHaveNotes(value: JsonValue): boolean {
  return typeof value === 'object' || typeof value === 'number';
}

function isAnotherInJson(value: number): boolean {
  return Object.is(value, -0) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

function restore(values: JsonValue[], path: Path, text: string | null): void {
  let holder: JsonValue = values;
  for (const step of path.slice(0, -1)) holder = at(holder, step);
  const last = path.at(-1) ?? 0;
  const read = at(holder, last);
  const own = text === null ? numberOf(read) : withSourceText(read, text);
  if (Array.isArray(holder)) holder[Number(last)] = own;
  else setField(holder as JsonObject, String(last), own);
}

function at(holder: JsonValue, step: string | number): JsonValue {
  return (holder as Record<string | number, JsonValue>)[step] ?? null;
}

function numberOf(read: JsonValue): number {
  const value = Number(read);
  return value === 0 ? -0 : value;
}
