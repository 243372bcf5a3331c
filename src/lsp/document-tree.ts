/** A document as the tolerant parser sees it: also where the text is broken, something is there. */
import { isMap, isScalar, isSeq, parseDocument, visit, type Document, type Pair } from 'yaml';
import type { Steps } from '../document/parse/steps.ts';

export type Tree = Document.Parsed;

export function parseTree(text: string): Tree {
  return parseDocument(text, { uniqueKeys: false, logLevel: 'silent' });
}

/** A key or a scalar value, and the way to it. */
export interface Word {
  readonly path: Steps;
  readonly role: 'key' | 'value';
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Every key and every scalar value, in the order of the text. */
export function wordsOf(tree: Tree): Word[] {
  const words: Word[] = [];
  visit(tree, {
    Scalar: (position, { value, range }, ancestors) => {
      if (!range) return;
      const [start, end] = range;
      const path = pathOf([...ancestors, position]);
      const role = position === 'key' ? 'key' : 'value';
      words.push({ path, role, text: plainText(value), start, end });
    },
  });
  return words;
}

/** How a value that is no map and no list is written. */
export function plainText(value: unknown): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}

/** `trail`: the nodes above a scalar, from the outermost one, and last its place in its parent. */
function pathOf(trail: readonly unknown[]): Steps {
  const steps: (string | number)[] = [];
  for (const [index, node] of trail.entries()) {
    const next = trail[index + 1];
    if (isSeq(node)) steps.push(typeof next === 'number' ? next : node.items.indexOf(next));
    else if (isPairLike(node)) steps.push(keyText(node));
  }
  return steps;
}

function isPairLike(node: unknown): node is Pair {
  return typeof node === 'object' && node !== null && 'key' in node && 'value' in node;
}

export function keyText({ key }: Pick<Pair, 'key'>): string {
  return plainText(isScalar(key) ? key.value : key);
}

export function nodeAt(tree: Tree, path: Steps): unknown {
  let node: unknown = tree.contents;
  for (const step of path) {
    if (isSeq(node)) node = node.items[Number(step)];
    else if (isMap(node)) node = node.items.find((pair) => keyText(pair) === String(step))?.value;
    else return undefined;
  }
  return node;
}

export function keysAt(tree: Tree, path: Steps): string[] {
  const node = nodeAt(tree, path);
  return isMap(node) ? node.items.map((pair) => keyText(pair)) : [];
}

export function textAt(tree: Tree, path: Steps): string | undefined {
  const node = nodeAt(tree, path);
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined;
}

/** Members of a map that are plain values, such as its `type`. */
export function scalarsAt(tree: Tree, path: Steps): ReadonlyMap<string, string> {
  const node = nodeAt(tree, path);
  if (!isMap(node)) return new Map();
  return new Map(
    node.items.flatMap((pair): [string, string][] =>
      isScalar(pair.value) && pair.value.value !== null
        ? [[keyText(pair), plainText(pair.value.value)]]
        : [],
    ),
  );
}
