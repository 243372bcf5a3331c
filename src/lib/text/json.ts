import { withPlainNames } from './escaped-names.ts';
import {
  holdsSpelling,
  keepSpelling,
  NEGATIVE_ZERO,
  noteSpelling,
  rememberSpelling,
  spellingOf,
} from './number-spelling.ts';

/**
 * JSON values as Headgate moves them. Integers outside the safe range of a double are `bigint`,
 * so that a 64-bit key survives the way from source to sink digit by digit.
 */
export type JsonScalar = null | boolean | number | bigint | string;
export type JsonObject = { [key: string]: JsonValue };
export type JsonValue = JsonScalar | JsonValue[] | JsonObject;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Sets an own property, also for the one name (`__proto__`) that plain assignment would treat as
 * something else.
 */
export function setField(target: JsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    target[key] = value;
    if (value === 0 && Object.is(value, -0)) rememberSpelling(target, key, NEGATIVE_ZERO);
  }
}

export function hasField(target: JsonObject, key: string): boolean {
  return Object.hasOwn(target, key);
}

/** Structural equality; numbers compare by value, object key order does not matter. */
export function jsonEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint') {
    return (
      (typeof a === 'number' || typeof a === 'bigint') &&
      (typeof b === 'number' || typeof b === 'bigint') &&
      a == b
    );
  }
  if (
    typeof a !== 'object' ||
    typeof b !== 'object' ||
    a === null ||
    b === null ||
    a === undefined ||
    b === undefined
  )
    return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]));
  }
  if (Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => hasField(b, key) && jsonEqual(a[key], b[key]))
  );
}

/**
 * Sixteen or more digits in a row, or a three-digit exponent, may not fit a double: only then is
 * the slower exact reader used.
 */
const MAY_NOT_FIT = /[0-9]{16}|[0-9][eE][+]?[0-9]{3}/;

/**
 * Parses JSON text; integers beyond the safe range come back as `bigint`. Throws `SyntaxError`,
 * also for a number beyond a double.
 */
export function parseJson(text: string): JsonValue {
  return parseWith(text, MAY_NOT_FIT.test(text) ? exactInteger : undefined);
}

/**
 * A number that may be written in another way than JavaScript would: negative zero, a zero at the
 * end of a fraction, an exponent, more digits than a double holds, a very small number. Texts may
 * look like one, which only takes time.
 */
const MAY_BE_SPELLED =
  /(?:^|[:,[\s])(?:-0(?![.0-9])|-?[0-9]+(?:\.[0-9]*?0(?![0-9])|(?:\.[0-9]+)?[eE])|-?[0-9][0-9.]{15}|-?0\.0{6})/;

/**
 * The same for data: what holds a number that JavaScript would write in another way remembers how
 * it was written, and so does `stringifyJson`.
 */
export function parseData(text: string): JsonValue {
  return parseWith(text, MAY_BE_SPELLED.test(text) ? spelledNumber : undefined);
}

/** What `JSON.parse` calls for each value. */
export type Reviver = (
  this: object,
  key: string,
  value: unknown,
  context?: { readonly source?: string },
) => unknown;

/** As `JSON.parse` is meant, see `withPlainNames`. */
export function parseWith(text: string, reviver: Reviver | undefined): JsonValue {
  const plain = text.includes('\\') ? withPlainNames(text) : undefined;
  if (plain === undefined) return JSON.parse(text, reviver) as JsonValue;
  let value: JsonValue;
  try {
    value = JSON.parse(plain.text, reviver) as JsonValue;
  } catch {
    // It names the place in the text as it was given.
    return JSON.parse(text, reviver) as JsonValue;
  }
  return plain.standIns.size === 0 ? value : renamed(value, plain.standIns);
}

function renamed(value: JsonValue, standIns: ReadonlyMap<string, string>): JsonValue {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = renamed(item, standIns);
    return value;
  }
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const name of Object.keys(value)) {
    const meant = standIns.get(name) ?? name;
    setField(out, meant, renamed(value[name] ?? null, standIns));
    keepSpelling(value, name, out, meant);
  }
  return out;
}

function spelledNumber(
  this: object,
  key: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  const exact = exactInteger(key, value, context);
  const source = context?.source;
  if (typeof exact === 'number' && source !== undefined && source !== String(exact))
    noteSpelling(this, key, source);
  return exact;
}

/** Whether a text is JSON, except that it has a number beyond a double. */
export function isNumberFault(error: unknown): boolean {
  return error instanceof NumberRange;
}

/** Why a text could not be parsed, as far as it may be told: never with a piece of the text. */
export function jsonFault(error: unknown): string {
  if (isNumberFault(error)) return 'has a number beyond the range of numbers';
  // The only one that a parser throws: the stack is at its end.
  if (error instanceof RangeError)
    return 'has values in values that are nested too deeply to be read';
  const position = error instanceof Error ? /position \d+/.exec(error.message)?.[0] : undefined;
  return `is not JSON${position === undefined ? '' : ` (at ${position})`}`;
}

/** Whether a text that is not JSON is the beginning of some. */
export function isCutJson(error: unknown, text: string): boolean {
  if (!(error instanceof SyntaxError) || text.trim() === '') return false;
  const position = /position (\d+)/.exec(error.message)?.[1];
  return position === undefined
    ? error.message.includes('end of JSON input')
    : Number(position) === text.length;
}

const FAULTS: readonly (readonly [RegExp, string])[] = [
  [
    /^Unexpected token '[NI]'/,
    'JSON has no NaN and no Infinity: have null or a text written for them',
  ],
  [/property name/, 'names stand in double quotes, and no comma stands behind the last one'],
  [/Unexpected token '\\''/, 'texts stand in double quotes'],
  [/control character/, 'write line ends and tabs in texts as `\\n` and `\\t`'],
  [/escaped character|escape sequence/, 'write a backslash in a text as two'],
  [
    /after JSON/,
    'one value stands there, and more follows: have each written on a line of its own',
  ],
];

const DEEP_HINT = 'take the record out of the source, or have it written flatter';

/** What to do about it; `text` is what could not be parsed. */
export function jsonHint(error: unknown, text: string): string | undefined {
  if (error instanceof RangeError) return DEEP_HINT;
  if (!(error instanceof SyntaxError)) return undefined;
  const { message } = error;
  const position = /position (\d+)/.exec(message)?.[1];
  if (message.startsWith('Unexpected end') || Number(position) >= text.length)
    return 'it ends in the middle: what follows may be missing or stand on other lines; compare the size of the file with that at its origin';
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1];
}

class NumberRange extends SyntaxError {}

function exactInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  if (!Number.isFinite(value))
    throw new NumberRange(`the number ${source} is beyond the range of numbers`);
  return source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
}

/** Compact JSON text; `bigint` is written as its digits, numbers of data as they were read. */
export function stringifyJson(value: JsonValue, indent?: number): string {
  if (holdsSpelling(value)) return JSON.stringify(value, rawNumber, indent);
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, rawBigInt, indent);
  }
}

/** The text of a field whose value no record holds: `setField` would note how it is written. */
export function stringifyField(value: JsonValue): string {
  return Object.is(value, -0) ? NEGATIVE_ZERO : stringifyJson(value);
}

// JSON.rawJSON is in Node 22 and newer; the type library does not know it yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(this: void, text: string): unknown };

function rawNumber(this: object, key: string, value: unknown): unknown {
  const text = typeof value === 'number' ? spellingOf(this, key) : undefined;
  return text === undefined ? rawBigInt(key, value) : rawJson(text);
}

function rawBigInt(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJson(value.toString()) : value;
}

/**
 * The text of a value where one stands inside a string: strings raw, everything else as compact
 * JSON.
 */
export function jsonText(value: JsonValue): string {
  return typeof value === 'string' ? value : stringifyJson(value);
}

/**
 * JSON text with object keys sorted at every level; equal values give equal text. Used for
 * fingerprints.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return stringifyJson(value);
  let text = '';
  for (const key of Object.keys(value).sort())
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`;
  return `{${text}}`;
}
