/**
 * JSON values that remember how they were written, for databases that keep the text of a document
 * or tell the JSON null from no value. Everybody else sees the value alone.
 */
import { exactNumber } from './exact-number.ts';
import { spellingOf } from './number-spelling.ts';
import {
  isObject,
  parseData,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from './json.ts';

// JSON.rawJSON is in Node 22 and newer; the type library does not know it yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(this: void, text: string): unknown };

/**
 * A null, number, text or boolean that JavaScript cannot hold as it was written. It is written to
 * JSON with its own text, and has no fields.
 */
class JsonLiteral {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }

  toJSON(): unknown {
    return rawJson(this.#text);
  }
}

/** The type of values has no room for it, because hardly anybody has to know it. */
function literal(text: string): JsonObject {
  return Object.freeze(new JsonLiteral(text)) as unknown as JsonObject;
}

/** A null inside a document column, as opposed to a column without a value. */
export const JSON_NULL: JsonObject = literal('null');

const SOURCE_TEXT = Symbol('JSON text');

/**
 * A document together with its text, where writing the value would give another one. The text is
 * forgotten when the value is copied or cloned, so a changed copy does not have it.
 */
export function withSourceText(value: JsonValue, text: string): JsonValue {
  if (value === null) return JSON_NULL;
  if (typeof value === 'object')
    return Object.defineProperty(value, SOURCE_TEXT, { value: text, configurable: true });
  return literal(text.trim());
}

/** The same; negative zero tells its spelling itself. */
export function withSpelling(value: JsonValue, text: string): JsonValue {
  return Object.is(value, -0) ? value : withSourceText(value, text);
}

/** The text that `withSourceText` was given. */
export function sourceText(value: JsonValue): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof JsonLiteral) return value.text;
  return (value as { [SOURCE_TEXT]?: string })[SOURCE_TEXT];
}

/** The JSON text of a document: its own where it has one. */
export function documentText(value: JsonValue): string {
  return sourceText(value) ?? stringifyJson(value);
}

export function isLiteral(value: JsonValue | undefined): boolean {
  return value instanceof JsonLiteral;
}

/** An object to look into: a literal is one to JavaScript, and stays whole. */
export function isContainer(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && !isLiteral(value);
}

/**
 * The value of a field, or of an item of a list, for a destination that can hold more than JavaScript: a number that was
 * written in its own way is a value with its own text.
 */
export function exactField(holder: JsonObject | JsonValue[], field: string): JsonValue {
  const value = Object.hasOwn(holder, field) ? ((holder as JsonObject)[field] ?? null) : null;
  const text = typeof value === 'number' ? spellingOf(holder, field) : undefined;
  return text === undefined ? value : literal(text);
}

/** What a literal spells, for a column of another type: a number keeps all its digits. */
export function literalValue(value: JsonValue): JsonValue {
  const plain = plainJson(value);
  const text = sourceText(value);
  return typeof plain === 'number' && text !== undefined && exactNumber(plain, text) === undefined
    ? text
    : plain;
}

/** The value without its spelling, for comparisons. */
export function plainJson(value: JsonValue): JsonValue {
  return value instanceof JsonLiteral ? parseJson(value.text) : value;
}

const STRING_OR_KEY = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/**
 * The value alone where its text has more members: of members with one key the value has the last,
 * and nobody who looks at the value sees the others.
 */
export function withoutHiddenMembers(value: JsonObject | JsonValue[]): JsonValue {
  const text = sourceText(value);
  if (text === undefined || !hasHiddenMembers(text, value)) return value;
  return Array.isArray(value) ? [...value] : { ...value };
}

/** Whether the text of the value has two members of one name, of which the value has the last. */
export function hasHiddenMembers(text: string, value: JsonValue): boolean {
  const members = memberCount(value);
  // Most texts have no white space before a colon, and no quote and colon in a value.
  let likely = 0;
  for (let at = text.indexOf('":'); at !== -1; at = text.indexOf('":', at + 2)) likely += 1;
  if (likely === members) return false;
  let keys = 0;
  for (const [, isKey] of text.matchAll(STRING_OR_KEY)) if (isKey !== undefined) keys += 1;
  return keys !== members;
}

function memberCount(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += memberCount(item);
    return count;
  }
  // The fastest walk over the fields of an object, for each record that is read.
  for (const key in value) {
    count += 1;
    const item = value[key];
    if (typeof item === 'object') count += memberCount(item);
  }
  return count;
}

/** The document that a text spells; `undefined` where it spells none. Other values are documents. */
export function documentFromText(value: JsonValue): JsonValue | undefined {
  if (typeof value !== 'string') return value;
  try {
    const parsed = parseData(value);
    return parsed === null ? JSON_NULL : parsed;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
