/**
 * One way to write a document: stable key order, even indentation, comments kept. Formatting never
 * changes what it says.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  isMap,
  isScalar,
  isSeq,
  Lexer,
  parseDocument,
  type Document,
  type Pair,
  type YAMLMap,
} from 'yaml';
import { assert } from '../../lib/errors.ts';
import { isObject, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { parseFragment, type Format } from '../../document/parse/parse.ts';

/** Keys of the top level, as they are read; keys that are not listed follow as written. */
const TOP_ORDER = [
  'version',
  'kind',
  'name',
  'extends',
  'profiles',
  'vars',
  'params',
  'auth',
  'pipeline',
  'matrix',
  'execution',
  'selection',
  'delivery',
  'resilience',
];
/** Everywhere else: what a thing is called, what it is, then how it is set up. */
const INNER_ORDER = [
  'id',
  'name',
  'kind',
  'ref',
  'type',
  'status',
  'tags',
  'parent',
  'parent_key',
  'depends_on',
  'source',
  'sources',
  'transforms',
  'sink',
  'sinks',
  'state',
  'dlq',
];
/**
 * Below these keys names are the author's own: their order may mean something to people, so it
 * stays.
 */
const FREE_KEYS = new Set(['config', 'vars', 'params', 'labels', 'headers', 'fields', 'match']);

export function formatYaml(text: string, file: string): string {
  const says = meaningOf(text, 'yaml', file);
  const document = parseDocument(text, { keepSourceTokens: true });
  if (isMap(document.contents)) orderMap(document.contents, { top: true, commentOnName: false });
  const formatted = print(document);
  if (formatted !== undefined && isDeepStrictEqual(meaningOf(formatted, 'yaml', file), says))
    return formatted;
  // An alias may not stand before its anchor: then the order stays as it was.
  const asWritten = print(parseDocument(text));
  assert(asWritten !== undefined, 'a document that was read can be written as it was');
  return asWritten;
}

export function formatJson(text: string, file: string): string {
  const { value } = meaningOf(text, 'json', file);
  return `${stringifyJson(orderValue(value, true), 2)}\n`;
}

/** What a text says; files that it includes are not looked into. */
function meaningOf(
  text: string,
  format: Format,
  file: string,
): { value: JsonValue; includes: ReadonlyMap<string, string> } {
  const { value, includes } = parseFragment(text, format, { kind: 'file', path: file });
  return {
    value,
    includes: new Map(includes.map(({ steps, target }) => [joinPath('', ...steps), target])),
  };
}

/** Nothing when the document cannot be written in this order. */
function print(document: Document.Parsed): string | undefined {
  try {
    return tightenLists(document.toString({ indent: 2, lineWidth: 0 }));
  } catch {
    return undefined;
  }
}

/** Lists as `[a, b]` beside mappings as `{ a: b }`; the library knows one padding for both. */
function tightenLists(text: string): string {
  const out: string[] = [];
  for (const token of new Lexer().lex(text)) {
    const before = out.at(-1);
    // Marks of the lexer, which are not in the text: a document begins, a scalar follows.
    if (token === '\u0002' || token === '\u001F') continue;
    if (token === ']' && before === ' ') out.pop();
    if (token !== ' ' || before !== '[') out.push(token);
  }
  return out.join('');
}

interface MapPlace {
  readonly top: boolean;
  /**
   * The comment above the first key stands beside the name of the mapping and is about all of it.
   */
  readonly commentOnName: boolean;
}

function orderMap(map: YAMLMap, { top, commentOnName }: MapPlace): void {
  const first = map.items[0];
  const rank = ranker(top);
  const ranked = map.items.map((pair, index) => ({ pair, rank: rank(keyText(pair.key), index) }));
  map.items = ranked.sort((a, b) => a.rank - b.rank).map(({ pair }) => pair);
  if (map.items[0] !== first && isScalar(first?.key)) {
    if (!commentOnName && typeof map.commentBefore === 'string') {
      first.key.commentBefore = map.commentBefore;
      map.commentBefore = null;
    }
    const opening = map.items[0]?.key;
    if (isScalar(opening)) opening.spaceBefore = false;
  }
  for (const pair of map.items)
    if (!FREE_KEYS.has(keyText(pair.key))) orderNode(pair.value, hasCommentOnName(pair));
}

/** `name: # comment`, before the line ends. */
function hasCommentOnName(pair: Pair): boolean {
  const separator = pair.srcToken?.sep ?? [];
  const kinds = separator.map((token) => token.type);
  const comment = kinds.indexOf('comment');
  return comment !== -1 && !kinds.slice(0, comment).includes('newline');
}

function orderNode(node: unknown, commentOnName: boolean): void {
  if (isMap(node)) orderMap(node, { top: false, commentOnName });
  else if (isSeq(node)) for (const item of node.items) orderNode(item, false);
}

function orderValue(value: JsonValue, top: boolean): JsonValue {
  if (Array.isArray(value)) return value.map((item) => orderValue(item, false));
  if (!isObject(value)) return value;
  const rank = ranker(top);
  const keys = Object.keys(value)
    .map((key, index) => ({ key, rank: rank(key, index) }))
    .sort((a, b) => a.rank - b.rank);
  const entries = keys.map(({ key }): [string, JsonValue] => [
    key,
    FREE_KEYS.has(key) ? (value[key] ?? null) : orderValue(value[key] ?? null, false),
  ]);
  return Object.fromEntries<JsonValue>(entries);
}

/** Listed keys first and in that order, the others after them as written. */
function ranker(top: boolean): (key: string, index: number) => number {
  const order = top ? TOP_ORDER : INNER_ORDER;
  return (key, index) => {
    const listed = order.indexOf(key);
    return listed === -1 ? order.length + index : listed;
  };
}

function keyText(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}
