/** Text to document: parse, (compose,) merge over the server's defaults, interpolate. Effects come in through the options. */
import { basename, extname } from 'node:path';
import { ConfigError, type Issue } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { suggestion } from '../lib/nearest.ts';
import type { Document } from './document.ts';
import { interpolate, type TokenSources } from './interpolate.ts';
import { MAX_DOCUMENT_BYTES } from './limits.ts';
import { withPlaces, type Locate } from './locate.ts';
import { mergeTrees } from './merge.ts';
import type { Origin } from './origin.ts';
import { parseText, type Format } from './parse.ts';

export interface LoadOptions extends TokenSources {
  readonly format: Format;
  readonly origin: Origin;
  /** The server's default document, merged beneath this one: a parsed tree, or the tree of a loaded document. */
  readonly base?: JsonObject;
  /** Overrides the name the document gives itself. */
  readonly name?: string;
}

/** Throws `ConfigError` of stage `parse` or `interpolate` with every issue of that stage. */
export function loadDocument(text: string, options: LoadOptions): Document {
  const { tree, locate } = parseText(text, options.format, options.origin);
  if (options.origin.kind === 'submitted') refuseSchedule(tree, locate);
  const merged = options.base === undefined ? tree : mergeTrees(options.base, tree);
  const filled = interpolate(merged, options);
  if (filled.issues.length > 0) throw new ConfigError(withPlaces(unique(filled.issues), locate), { stage: 'interpolate' });
  return documentOf(filled.tree, { ...options, locate });
}

export type FileOptions = Omit<LoadOptions, 'format' | 'origin'>;

/** Reads a `.yaml`, `.yml` or `.json` file. Its name without extension is the name of a document that gives itself none. */
export function loadDocumentFile(path: string, options: FileOptions): Document {
  const format = formatOf(path);
  const origin: Origin = { kind: 'file', path };
  return loadDocument(readText(path, options), { ...options, format, origin });
}

const FORMATS: Readonly<Record<string, Format>> = { '.yaml': 'yaml', '.yml': 'yaml', '.json': 'json' };

function formatOf(path: string): Format {
  const extension = extname(path).toLowerCase();
  const format = Object.hasOwn(FORMATS, extension) ? FORMATS[extension] : undefined;
  if (format !== undefined) return format;
  const hint = suggestion(extension, Object.keys(FORMATS), 'possible are');
  throw fileRefusal(
    'unsupported_extension',
    path,
    `the extension ${extension === '' ? 'is missing' : `\`${extension}\` is not supported`}`,
    hint,
  );
}

function readText(path: string, options: FileOptions): string {
  let bytes: Uint8Array;
  try {
    bytes = options.readFile(path, MAX_DOCUMENT_BYTES + 1);
  } catch (error) {
    const missing = (error as { code?: unknown }).code === 'ENOENT';
    throw fileRefusal('file_unreadable', path, missing ? 'there is no such file' : 'the file cannot be read');
  }
  if (bytes.byteLength > MAX_DOCUMENT_BYTES) {
    throw fileRefusal('too_large', path, `the document is larger than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MB`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw fileRefusal('bad_encoding', path, 'the file is not UTF-8 text');
  }
}

function fileRefusal(code: string, file: string, message: string, hint?: string): ConfigError {
  const issue: Issue = { code, path: '', message, file };
  return new ConfigError([hint === undefined ? issue : { ...issue, hint }], { stage: 'parse' });
}

/** A document whose tree is already interpolated: a worker process plans again from it. */
export function documentOfTree(tree: JsonObject, options: { readonly name?: string; readonly origin?: Origin } = {}): Document {
  return documentOf(tree, { origin: { kind: 'submitted' }, ...options });
}

function documentOf(tree: JsonObject, from: { name?: string; origin: Origin; locate?: Locate }): Document {
  const { origin, locate = () => undefined } = from;
  return Object.freeze({ tree, name: nameOf(tree, from), origin, locate });
}

function nameOf(tree: JsonObject, from: { name?: string; origin: Origin }): string {
  if (from.name !== undefined && from.name !== '') return from.name;
  if (typeof tree['name'] === 'string' && tree['name'] !== '') return tree['name'];
  return from.origin.kind === 'file' ? basename(from.origin.path, extname(from.origin.path)) || 'pipeline' : 'pipeline';
}

function refuseSchedule(tree: JsonObject, locate: Locate): void {
  if (!Object.hasOwn(tree, 'schedule')) return;
  const issue: Issue = {
    code: 'schedule_refused',
    path: 'schedule',
    message: 'a submitted document cannot have a `schedule`: it runs once, now',
    hint: 'remove the block, and submit on your schedule',
  };
  throw new ConfigError(withPlaces([issue], locate), { stage: 'parse' });
}

function unique(issues: readonly Issue[]): Issue[] {
  const seen = new Map(issues.map((issue) => [`${issue.code} ${issue.path} ${issue.message}`, issue]));
  return [...seen.values()];
}
