/**
 * JSON text to plain values. Our own scan beside the runtime's parser: it tells duplicate keys,
 * depth and places.
 */
import { parseJson } from '../../lib/text/json.ts';
import { MAX_DEPTH, MAX_KEYS } from './limits.ts';
import type { PlaceNode } from './locate.ts';
import { FIRST_DOCUMENT, textFault, type TextFault } from './text-fault.ts';

/** Throws `TextFault`. */
export function parseJsonText(text: string): unknown {
  scan(text, undefined);
  return parseJson(text);
}

export function placesOfJson(text: string): PlaceNode | undefined {
  const root: PlaceNode = { offset: 0, below: new Map() };
  scan(text, root);
  return root;
}

interface Level {
  readonly kind: 'list' | 'mapping';
  readonly keys: Set<string>;
  readonly node: PlaceNode | undefined;
  /** The key or index the next value belongs to. */
  step: string | number;
  offset: number;
}

const SPACE = /[ \t\r\n]*/y;
const STRING =
  /"[^"\\\p{Cc}]*(?:(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[\u007f-\u009f])[^"\\\p{Cc}]*)*"/uy;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Reads the whole text by its grammar, without recursion. */
function scan(text: string, root: PlaceNode | undefined): void {
  const levels: Level[] = [];
  let at = skip(text, 0);
  if (at >= text.length)
    throw textFault(text, 0, 'empty_document', 'the document is empty', FIRST_DOCUMENT);
  let expectValue = true;
  let first = true;
  while (expectValue || levels.length > 0) {
    const level = levels.at(-1);
    if (!expectValue && level !== undefined) {
      const close = level.kind === 'list' ? ']' : '}';
      if (text[at] === close) {
        levels.pop();
        at = skip(text, at + 1);
        first = false;
        continue;
      }
      at = nextEntry(text, at, level, first);
    }
    const opened = openLevel(text, at, levels, root);
    if (opened !== undefined) {
      levels.push(opened);
      if (levels.length > MAX_DEPTH)
        throw textFault(
          text,
          at,
          'too_deep',
          `the document is nested deeper than ${MAX_DEPTH} levels`,
        );
      at = skip(text, at + 1);
      first = true;
    } else {
      place(level, at);
      at = skip(text, scalarEnd(text, at));
      first = false;
    }
    expectValue = false;
  }
  if (at < text.length) throw broken(text, at);
}

/** Passes the comma and, in a mapping, the key with its colon; returns where the value starts. */
function nextEntry(text: string, from: number, level: Level, first: boolean): number {
  let at = from;
  if (!first) {
    if (text[at] !== ',') throw broken(text, at);
    at = skip(text, at + 1);
  }
  level.offset = at;
  if (level.kind === 'list') {
    level.step = typeof level.step === 'number' ? level.step + 1 : 0;
    return at;
  }
  const end = match(STRING, text, at);
  if (end === -1) throw broken(text, at);
  const key = JSON.parse(text.slice(at, end)) as string;
  if (level.keys.has(key))
    throw textFault(
      text,
      at,
      'duplicate_key',
      `${key.length > 60 ? 'a key' : `the key \`${key}\``} is used twice in one object`,
      'remove one of the two, or rename it',
    );
  level.keys.add(key);
  if (level.keys.size > MAX_KEYS)
    throw textFault(text, at, 'too_large', `a mapping has more than ${MAX_KEYS} keys`);
  level.step = key;
  at = skip(text, end);
  if (text[at] !== ':') throw broken(text, at);
  return skip(text, at + 1);
}

function openLevel(
  text: string,
  at: number,
  levels: readonly Level[],
  root: PlaceNode | undefined,
): Level | undefined {
  const kind = text[at] === '{' ? 'mapping' : text[at] === '[' ? 'list' : undefined;
  if (kind === undefined) return undefined;
  const above = levels.at(-1);
  const node = above === undefined ? root : place(above, at);
  return { kind, keys: new Set(), node, step: -1, offset: at };
}

function place(level: Level | undefined, at: number): PlaceNode | undefined {
  if (level?.node === undefined) return undefined;
  const node: PlaceNode = {
    offset: level.kind === 'mapping' ? level.offset : at,
    below: new Map(),
  };
  level.node.below.set(level.step, node);
  return node;
}

function scalarEnd(text: string, at: number): number {
  const end = text[at] === '"' ? match(STRING, text, at) : match(SCALAR, text, at);
  if (end === -1) throw broken(text, at);
  return end;
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function skip(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

function broken(text: string, at: number): TextFault {
  const what =
    at >= text.length ? 'the JSON text ends too early' : 'the text is not valid JSON from here on';
  return textFault(text, at, 'bad_json', what);
}
