import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Location } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { isMap } from 'yaml';
import type { Steps } from '../document/parse/steps.ts';
import type { Locate } from '../document/text/locate.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { nodeAt, parseTree, wordsOf, type Tree, type Word } from './document-tree.ts';
import { declared, namesFor, tokenAt, type Names } from './names.ts';

/** `locate` finds places in files that the document extends. */
export function definitionAt(
  document: TextDocument,
  offset: number,
  locate: () => Locate | undefined,
): Location | undefined {
  const text = document.getText();
  const tree = parseTree(text);
  const words = wordsOf(tree);
  const word = words.find(({ start, end }) => start <= offset && offset <= end);
  if (word === undefined || word.role !== 'value') return undefined;
  const named = namesFor(tree, word.path);
  const meant =
    named === undefined ? tokenIn(text, word, offset) : { names: named, name: word.text };
  if (meant === undefined) return undefined;
  const { names, name } = meant;
  const target = declared(tree, names).get(name) ?? singlePreset(tree, meant);
  if (target === undefined) return elsewhere(meant, locate());
  // The key that is named; of a row the value of its `id`, or its first key.
  const found = (isIt: (one: Word) => boolean): Word | undefined =>
    names.kind === 'rows' ? words.findLast(isIt) : words.find(isIt);
  const node =
    found(({ path }) => isSame(path, target)) ??
    words.find(({ path }) => isSame(path.slice(0, target.length), target));
  if (node === undefined) return undefined;
  const range = { start: document.positionAt(node.start), end: document.positionAt(node.end) };
  return { uri: document.uri, range };
}

interface Named {
  readonly names: Names;
  readonly name: string;
}

function tokenIn(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  offset: number,
): Named | undefined {
  return tokenAt(text.slice(start, end), offset - start);
}

/** `pipeline.sink` is the preset `default`. */
function singlePreset(tree: Tree, { names, name }: Named): Steps | undefined {
  if (names.kind === 'rows' || name !== 'default' || names.of[0] !== 'pipeline') return undefined;
  const single = ['pipeline', String(names.of[1]).slice(0, -1)];
  return isMap(nodeAt(tree, single)) ? single : undefined;
}

/** In a file that the document extends; the place that is found may be one above it. */
function elsewhere({ names, name }: Named, locate: Locate | undefined): Location | undefined {
  if (names.kind === 'rows') return undefined;
  const above = locate?.(joinPath('', ...names.of));
  const place = locate?.(joinPath('', ...names.of, name));
  if (place?.file === undefined || (place.line === above?.line && place.column === above.column))
    return undefined;
  const start = { line: place.line - 1, character: place.column - 1 };
  const end = { ...start, character: start.character + name.length };
  return { uri: pathToFileURL(resolve(place.file)).href, range: { start, end } };
}

function isSame(one: Steps, other: Steps): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}
