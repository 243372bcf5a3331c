/**
 * Text to document: parse, compose, merge over the server's defaults, interpolate and bind. Effects
 * come in through the options.
 */
import { basename, extname } from 'node:path';
import { assert, ConfigError, type ConfigStage, type Issue } from '../lib/errors.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { BlockGrammar } from './block.ts';
import type { AskSecrets } from './tokens/ask-secrets.ts';
import type { Binding } from './params/bind-params.ts';
import {
  composeDocument,
  type Composed,
  type ComposeOptions,
  type DocumentText,
} from './compose/compose.ts';
import type { Document } from './document.ts';
import { readFormattedFile } from './text/file-text.ts';
import { interpolate, type Interpolated } from './tokens/interpolate.ts';
import { canonicalPaths } from './text/local-file.ts';
import { withPlaces, type Locate } from './text/locate.ts';
import { mergeTrees } from './compose/merge.ts';
import type { Origin } from './compose/origin.ts';
import type { TokenSources } from './tokens/outside-values.ts';
import { parseText, type Format, type ParsedText } from './parse/parse.ts';
import type { SecretAnswer } from './tokens/secret-tokens.ts';

export interface LoadOptions extends TokenSources, Binding {
  readonly format: Format;
  readonly origin: Origin;
  /**
   * The server's default document, merged beneath this one: a parsed tree, or the tree of a loaded
   * document.
   */
  readonly base?: JsonObject;
  /** The blocks of the build, of which a submitted document cannot have all. */
  readonly blocks?: readonly Pick<BlockGrammar, 'name' | 'notSubmitted'>[];
  /** Overrides the name the document gives itself. */
  readonly name?: string;
  /** Files only: the overlay under `profiles` that is applied. */
  readonly profile?: string;
  /**
   * One name for a file, however it is reached; by default relative paths start at the working
   * folder of the process.
   */
  readonly canonicalPath?: (path: string) => string;
}

/** A document with tokens at fault. What else is wrong with it can be found out. */
export class UnfilledError extends ConfigError {
  /** The faulty tokens stand in it as ones that are not filled in: it cannot run. */
  readonly document: Document;

  constructor(issues: readonly Issue[], stage: ConfigStage, document: Document) {
    super(withPlaces(unique(issues), document.locate), { stage });
    this.document = document;
  }
}

/**
 * Throws `ConfigError` of stage `parse` or `interpolate`, or `validate` where only `params` are at
 * fault, with every issue of that stage; where tokens are at fault, an `UnfilledError`.
 */
export function loadDocument(text: string, options: LoadOptions): Document {
  const read = readMerged(text, options);
  return finishDocument(interpolate(read.tree, options, options), read, options);
}

/**
 * As `loadDocument`, with what secrets managers hold. They are asked only once nothing else is
 * wrong with the tokens.
 */
export async function loadWithSecrets(
  text: string,
  options: LoadOptions,
  ask: AskSecrets,
): Promise<Document> {
  const read = readMerged(text, options);
  const secrets = new Map<string, SecretAnswer>();
  for (;;) {
    const filled = interpolate(read.tree, { ...options, secrets }, options);
    if (filled.issues.length > 0 || filled.wanted.length === 0)
      return finishDocument(filled, read, options);
    // The name of a secret may hold a token of another one; each round answers what the one before
    // made known.
    const answers = await ask(filled.wanted);
    for (const { token } of filled.wanted) {
      const answer = answers.get(token);
      assert(answer !== undefined, `there is an answer for ${token}`);
      secrets.set(token, answer);
    }
  }
}

function readMerged(text: string, options: LoadOptions): ParsedText {
  const { tree, locate } = readTree(text, options);
  return { tree: options.base === undefined ? tree : mergeTrees(options.base, tree), locate };
}

function finishDocument(
  filled: Interpolated,
  { locate }: ParsedText,
  options: LoadOptions,
): Document {
  const document = documentOf(filled.tree, { ...options, locate, params: filled.params });
  if (filled.issues.length > 0) throw new UnfilledError(filled.issues, filled.stage, document);
  return document;
}

function readTree(text: string, options: LoadOptions): ParsedText {
  const { origin, format } = options;
  if (origin.kind === 'file')
    return composeDocument({ path: origin.path, format, text }, compositionOf(options));
  const parsed = parseText(text, format, origin);
  refuseBlocks(parsed, options.blocks ?? []);
  return parsed;
}

function compositionOf(options: ComposeFileOptions): ComposeOptions {
  const { readFile, canonicalPath = canonicalPaths('.'), profile } = options;
  return { readFile, canonicalPath, ...(profile === undefined ? {} : { profile }) };
}

export type FileOptions = Omit<LoadOptions, 'format' | 'origin'>;

/**
 * Reads a `.yaml`, `.yml` or `.json` file. Its name without extension is the name of a document
 * that gives itself none.
 */
export function loadDocumentFile(path: string, options: FileOptions): Document {
  const { text, format } = readFormattedFile(path, options.readFile);
  return loadDocument(text, { ...options, format, origin: { kind: 'file', path } });
}

export function loadFileWithSecrets(
  path: string,
  options: FileOptions,
  ask: AskSecrets,
): Promise<Document> {
  const { text, format } = readFormattedFile(path, options.readFile);
  return loadWithSecrets(text, { ...options, format, origin: { kind: 'file', path } }, ask);
}

export type ComposeFileOptions = Pick<LoadOptions, 'readFile' | 'canonicalPath' | 'profile'>;

/**
 * The document of a file with its bases, includes and profile merged, before any token is filled
 * in; and its text.
 */
export function composeFile(path: string, options: ComposeFileOptions): Composed & DocumentText {
  const file = { path, ...readFormattedFile(path, options.readFile) };
  return { ...file, ...composeDocument(file, compositionOf(options)) };
}

/** As `composeFile`, of a text that stands somewhere in the file. */
export function composeText(document: DocumentText, options: ComposeFileOptions): Composed {
  return composeDocument(document, compositionOf(options));
}

/** A document whose tree is already interpolated: a worker process plans again from it. */
export function documentOfTree(
  tree: JsonObject,
  options: { readonly name?: string; readonly origin?: Origin } = {},
): Document {
  return documentOf(tree, { origin: { kind: 'submitted' }, ...options });
}

function documentOf(
  tree: JsonObject,
  from: {
    name?: string;
    origin: Origin;
    locate?: Locate;
    params?: Readonly<Record<string, JsonValue>>;
  },
): Document {
  const { origin, locate = () => undefined, params = {} } = from;
  return Object.freeze({ tree, name: nameOf(tree, from), origin, locate, params });
}

function nameOf(tree: JsonObject, from: { name?: string; origin: Origin }): string {
  if (from.name !== undefined && from.name !== '') return from.name;
  if (typeof tree['name'] === 'string' && tree['name'] !== '') return tree['name'];
  return from.origin.kind === 'file'
    ? basename(from.origin.path, extname(from.origin.path)) || 'pipeline'
    : 'pipeline';
}

/** Blocks that only a document in a file can have. */
function refuseBlocks(
  { tree, locate }: ParsedText,
  blocks: NonNullable<LoadOptions['blocks']>,
): void {
  const issues = blocks.flatMap(({ name, notSubmitted }): Issue[] =>
    notSubmitted === undefined || !Object.hasOwn(tree, name)
      ? []
      : [{ ...notSubmitted, path: name }],
  );
  if (issues.length > 0) throw new ConfigError(withPlaces(issues, locate), { stage: 'parse' });
}

function unique(issues: readonly Issue[]): Issue[] {
  const seen = new Map(
    issues.map((issue) => [`${issue.code} ${issue.path} ${issue.message}`, issue]),
  );
  return [...seen.values()];
}
