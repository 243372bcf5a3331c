/** Where a text stops being JSON: what the parser says of it often has no place. */

const TOKEN =
  /[ \t\r\n]*(?:([[\]{},:])|("[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*")|((-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])|(?:true|false|null)(?!\w)))/y;
const SPACE = /[ \t\r\n]*/y;

type Wanted = 'value' | 'first item' | 'first key' | 'key' | 'colon' | 'comma' | 'end';

/** The index of the first character that cannot stand where it does; the length if more is missing. */
export function jsonFaultIndex(text: string): number {
  return firstFault(text, () => false);
}

/** The index of the first number that a double cannot hold. */
export function hugeNumberIndex(text: string): number {
  return firstFault(text, (number) => !Number.isFinite(Number(number)));
}

function firstFault(text: string, isFault: (number: string) => boolean): number {
  const open: string[] = [];
  let wanted: Wanted = 'value';
  for (let at = 0; ;) {
    SPACE.lastIndex = at;
    const start = at + (SPACE.exec(text)?.[0].length ?? 0);
    TOKEN.lastIndex = start;
    const [token, mark, string, , number] = TOKEN.exec(text) ?? [];
    if (token === undefined) return start;
    if (number !== undefined && isFault(number)) return start;
    const next = after(wanted, mark ?? (string === undefined ? 'value' : 'string'), open);
    if (next === undefined) return start;
    wanted = next;
    at = start + token.length;
  }
}

/** What is wanted after a token; `undefined` where the token cannot stand. Changes `open`. */
function after(wanted: Wanted, token: string, open: string[]): Wanted | undefined {
  const isValue = token === 'value' || token === 'string';
  switch (wanted) {
    case 'first item':
    case 'value':
      if (isValue) return open.length === 0 ? 'end' : 'comma';
      if (token === ']' && wanted === 'first item') return closed(open);
      if (token !== '[' && token !== '{') return undefined;
      open.push(token === '[' ? ']' : '}');
      return token === '[' ? 'first item' : 'first key';
    case 'first key':
    case 'key':
      if (token === '}' && wanted === 'first key') return closed(open);
      return token === 'string' ? 'colon' : undefined;
    case 'colon':
      return token === ':' ? 'value' : undefined;
    case 'comma':
      if (token === ',') return open.at(-1) === ']' ? 'value' : 'key';
      return token === open.at(-1) ? closed(open) : undefined;
    case 'end':
      return undefined;
    default:
      return wanted satisfies never;
  }
}

function closed(open: string[]): Wanted {
  open.pop();
  return open.length === 0 ? 'end' : 'comma';
}

/** Line and column of a character, counted from 1 as editors do. */
export function placeIn(text: string, index: number): { line: number; column: number } {
  const before = text.slice(0, index).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
