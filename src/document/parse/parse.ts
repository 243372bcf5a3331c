/**
 * The first stage: text to a plain tree. A text that cannot be read is refused at its first fault.
 */
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { Include } from '../compose/include.ts';
import { parseJsonText, placesOfJson } from '../text/json-text.ts';
import { MAX_DOCUMENT_BYTES, MAX_KEYS, TOO_MANY_KEYS } from '../text/limits.ts';
import { isFull, locatorOf, withPlaces, type Locate } from '../text/locate.ts';
import { compositionRefusal, type Origin } from '../compose/origin.ts';
import type { Steps } from './steps.ts';
import { textFault, TextFault } from '../text/text-fault.ts';
import { parseYaml, placesOfYaml } from '../text/yaml-text.ts';

export type Format = 'yaml' | 'json';

export interface ParsedText {
  readonly tree: JsonObject;
  readonly locate: Locate;
}

/** A text that may be part of a document: of any shape, and with files still to be included. */
export interface ParsedFragment {
  /** Places of files to include hold `null`. */
  readonly value: JsonValue;
  readonly includes: readonly PlacedInclude[];
  readonly locate: Locate;
}

export interface PlacedInclude {
  readonly steps: Steps;
  /** The path as written. */
  readonly target: string;
}

/** A document by itself: nothing is included. Throws `ConfigError` (stage `parse`). */
export function parseText(text: string, format: Format, origin: Origin): ParsedText {
  const { value, includes, locate } = parseFragment(text, format, origin);
  const refused = includes.map(({ steps }) => includeRefusal(origin, joinPath('', ...steps)));
  if (refused.length > 0)
    throw new ConfigError(withPlaces(refused, locate), {
      stage: origin.kind === 'submitted' ? 'validate' : 'parse',
    });
  if (!isObject(value)) throw new ConfigError(withPlaces([NO_MAPPING], locate), { stage: 'parse' });
  return { tree: value, locate };
}

/** What is said of a document that is no mapping. */
export const NO_MAPPING: Issue = {
  code: 'wrong_type',
  path: '',
  message: 'a document is a mapping of keys, not a list or a single value',
};

/** Throws `ConfigError` (stage `parse`). */
export function parseFragment(text: string, format: Format, origin: Origin): ParsedFragment {
  checkText(text, origin);
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const root = readText(body, format, origin);
  const places = locatorOf(body, () =>
    format === 'json' ? placesOfJson(body) : placesOfYaml(body),
  );
  const locate = placesIn(origin, places);
  const found: Found = { issues: [], includes: [], steps: [] };
  const value = plainCopy(root, found);
  if (found.issues.length > 0)
    throw new ConfigError(withPlaces(found.issues, locate), { stage: 'parse' });
  return { value, includes: found.includes, locate };
}

function includeRefusal(origin: Origin, path: string): Issue {
  if (origin.kind === 'submitted') return compositionRefusal('!include', path);
  return {
    code: 'yaml_tag',
    path,
    message: '`!include` is not possible in this file',
    hint: 'write the content itself',
  };
}

function checkText(text: string, origin: Origin): void {
  if (text.length > MAX_DOCUMENT_BYTES || Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    const limit = MAX_DOCUMENT_BYTES / 1024 / 1024;
    throw refusal(origin, {
      code: 'too_large',
      path: '',
      message: `the document is larger than ${limit} MB`,
      hint: 'move data out of the document into files',
    });
  }
  if (text.isWellFormed()) return;
  const broken = text.search(/[\uD800-\uDFFF]/u);
  const { fault } = textFault(
    text,
    broken,
    'bad_encoding',
    'the document holds half a character (an unpaired surrogate)',
  );
  throw refusal(origin, { path: '', ...fault });
}

function readText(text: string, format: Format, origin: Origin): unknown {
  try {
    return format === 'json' ? parseJsonText(text) : parseYaml(text);
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    throw refusal(origin, { path: '', ...error.fault });
  }
}

function refusal(origin: Origin, issue: Issue): ConfigError {
  return new ConfigError([inFile(origin, issue)], { stage: 'parse' });
}

function inFile<T extends object>(origin: Origin, place: T): T & { readonly file?: string } {
  return origin.kind === 'file' ? { ...place, file: origin.path } : place;
}

function placesIn(origin: Origin, locate: Locate): Locate {
  return (path) => {
    const position = locate(path);
    return position === undefined ? undefined : inFile(origin, position);
  };
}

interface Found {
  readonly issues: Issue[];
  readonly includes: PlacedInclude[];
  /** Steps to the value that is looked at. */
  readonly steps: (string | number)[];
}

/** A copy without shared nodes, and without values that JSON cannot hold. */
function plainCopy(value: unknown, found: Found): JsonValue {
  if (typeof value === 'string') {
    if (value.includes('\u0000')) report(found, 'bad_encoding', 'the text holds a NUL character');
    return value;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    report(found, 'invalid_value', 'infinity and not-a-number are no values of a document');
    return null;
  }
  if (value instanceof Include) {
    found.includes.push({ steps: [...found.steps], target: value.target });
    return null;
  }
  if (Array.isArray(value)) return value.map((item, index) => copyBelow(item, index, found));
  if (!isObject(value)) return value as JsonValue;
  const keys = Object.keys(value);
  if (keys.length > MAX_KEYS) {
    report(found, 'too_large', TOO_MANY_KEYS);
    return null;
  }
  const copy: JsonObject = {};
  for (const key of keys) {
    if (key.includes('\u0000')) report(found, 'bad_encoding', 'a key holds a NUL character');
    setField(copy, key, copyBelow(value[key], key, found));
  }
  return copy;
}

function copyBelow(value: unknown, step: string | number, found: Found): JsonValue {
  found.steps.push(step);
  const copy = plainCopy(value, found);
  found.steps.pop();
  return copy;
}

function report({ issues, steps }: Found, code: string, message: string): void {
  if (!isFull(issues)) issues.push({ code, path: joinPath('', ...steps), message });
}
