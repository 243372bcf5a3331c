/**
 * Where in a document somebody is typing. A mark is put at the cursor, and the tolerant parser says
 * where the mark stands; what is still open at the cursor is closed for it.
 */
import { Lexer } from 'yaml';
import type { Steps } from '../document/parse/steps.ts';
import { parseTree, wordsOf, type Tree, type Word } from './document-tree.ts';

const MARK = '__cursor__';

export interface Cursor {
  readonly tree: Tree;
  /** Of a key: the map in which it stands; of a value: the value itself. */
  readonly path: Steps;
  readonly role: 'key' | 'value';
  /** What stands between the start of the word and the cursor. */
  readonly typed: string;
  readonly start: number;
  readonly quoted: boolean;
  /** Nothing else stands in the map yet, so that the key may as well be a plain value. */
  readonly isAlone: boolean;
}

export function cursorAt(text: string, offset: number): Cursor | undefined {
  let best: { readonly tree: Tree; readonly word: Word; readonly errors: number } | undefined;
  for (const candidate of markedTexts(text, offset)) {
    const tree = parseTree(candidate);
    const word = wordsOf(tree).find((one) => one.text.includes(MARK));
    const errors = tree.errors.length;
    if (word !== undefined && (best === undefined || errors < best.errors))
      best = { tree, word, errors };
    if (best?.errors === 0) break;
  }
  return best && cursorOf(best.tree, best.word, text.slice(0, offset));
}

function cursorOf(tree: Tree, word: Word, before: string): Cursor {
  const typed = word.text.slice(0, word.text.indexOf(MARK));
  const key = word.role === 'key';
  return {
    tree,
    path: key ? word.path.slice(0, -1) : word.path,
    role: word.role,
    typed,
    start: before.length - typed.length,
    quoted: /["']/.test(before.at(-typed.length - 1) ?? ''),
    isAlone: key && wordsOf(tree).every((one) => one === word || !isBeside(one, word)),
  };
}

function isBeside(one: Word, word: Word): boolean {
  const length = word.path.length;
  const sameMap = word.path.slice(0, -1).every((step, index) => one.path[index] === step);
  return sameMap && one.path.length >= length && one.path[length - 1] !== word.path[length - 1];
}

/** From the reading that suits most to the one that always has a place for the mark. */
function markedTexts(text: string, offset: number): string[] {
  const before = text.slice(0, offset);
  const after = text.slice(offset);
  const lineEnd = after.indexOf('\n');
  const rest = lineEnd === -1 ? after : after.slice(0, lineEnd);
  const below = lineEnd === -1 ? '' : after.slice(lineEnd);
  const open = closing(before);
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const isKey = open === '' && /^\s*(?:- +)*[\w.-]*$/.test(line) && !rest.includes(':');
  return [
    ...(isKey ? [`${before}${MARK}${rest.trimEnd()}: ${below}`] : []),
    `${before}${MARK}${after}`,
    `${before}${MARK}${open}${below}`,
    `${before}${MARK}${open}`,
  ];
}

const FLOW_END = '\u0018';

/** Quotes and brackets that are open at the end of the text, closed. */
function closing(text: string): string {
  const open: string[] = [];
  let quote = '';
  for (const token of new Lexer().lex(text)) {
    if (token === '{') open.push('}');
    else if (token === '[') open.push(']');
    else if (token === '}' || token === ']') open.pop();
    else if (token === FLOW_END) open.length = 0;
    const [first = ''] = token;
    quote = /["']/.test(first) && (token.length === 1 || !token.endsWith(first)) ? first : '';
  }
  return quote + open.toReversed().join('');
}
