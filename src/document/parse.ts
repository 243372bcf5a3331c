/** The first stage: text to a plain tree. A text that cannot be read is refused at its first fault. */
import { ConfigError, type Issue } from '../lib/errors.ts';
import { isObject, setField, type JsonObject, type JsonValue } from '../lib/json.ts';
import { joinPath } from '../lib/text-path.ts';
import { parseJsonText, placesOfJson } from './json-text.ts';
import { MAX_DOCUMENT_BYTES } from './limits.ts';
import { locatorOf, withPlaces, type Locate } from './locate.ts';
import { compositionRefusal, type Origin } from './origin.ts';
import { TextFault } from './text-fault.ts';
import { parseYaml, placesOfYaml } from './yaml-text.ts';

export type Format = 'yaml' | 'json';

export interface ParsedText {
  readonly tree: JsonObject;
  readonly locate: Locate;
}

/** Throws `ConfigError` (stage `parse`). */
export function parseText(text: string, format: Format, origin: Origin): ParsedText {
  checkText(text, origin);
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const root = readText(body, format, origin);
  const places = locatorOf(body, () => (format === 'json' ? placesOfJson(body) : placesOfYaml(body)));
  const locate = placesIn(origin, places);
  if (!isObject(root)) {
    throw refusal(origin, {
      code: 'wrong_type',
      path: '',
      message: 'a document is a mapping of keys, not a list or a single value',
      line: 1,
      column: 1,
    });
  }
  const issues: Issue[] = [];
  const tree = plainCopy(root, '', issues) as JsonObject;
  if (issues.length > 0) throw new ConfigError(withPlaces(issues, locate), { stage: 'parse' });
  return { tree, locate };
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
  if (!text.isWellFormed())
    throw refusal(origin, { code: 'bad_encoding', path: '', message: 'the document holds half a character (an unpaired surrogate)' });
}

function readText(text: string, format: Format, origin: Origin): unknown {
  try {
    return format === 'json' ? parseJsonText(text) : parseYaml(text);
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    if (error.fault.code === 'include_tag') {
      throw new ConfigError([inFile(origin, compositionRefusal('!include', origin, { path: '', ...placeOf(error) }))]);
    }
    throw refusal(origin, { path: '', ...error.fault });
  }
}

function placeOf(error: TextFault): { line?: number; column?: number } {
  const { line, column } = error.fault;
  return line === undefined || column === undefined ? {} : { line, column };
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

/** A copy without shared nodes, and without values that JSON cannot hold. */
function plainCopy(value: unknown, path: string, issues: Issue[]): JsonValue {
  if (typeof value === 'string') {
    if (value.includes('\u0000')) issues.push({ code: 'bad_encoding', path, message: 'the text holds a NUL character' });
    return value;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    issues.push({ code: 'invalid_value', path, message: 'infinity and not-a-number are no values of a document' });
    return null;
  }
  if (Array.isArray(value)) return value.map((item, index) => plainCopy(item, joinPath(path, index), issues));
  if (!isObject(value)) return value as JsonValue;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const place = joinPath(path, key);
    if (key.includes('\u0000')) issues.push({ code: 'bad_encoding', path, message: 'a key holds a NUL character' });
    setField(copy, key, plainCopy(item, place, issues));
  }
  return copy;
}
