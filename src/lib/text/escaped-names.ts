/**
 * Names of JSON members that are written with escapes. `JSON.parse` of V8 in Node 24 and 26 takes such
 * a name for one of an object that it read before, where that one is written in the text as the beginning of this
 * one is: after `{"\\nx":1}`, whose name is a backslash, `n` and `x`, it reads `{"\nxy":1}` as the same name.
 */

/** A text in which no name has an escape. */
export interface PlainNames {
  readonly text: string;
  /** What stands in the text for names that cannot be written without; mostly there are none. */
  readonly standIns: ReadonlyMap<string, string>;
}

/** Characters that stand in a text only as escapes. */
// oxlint-disable-next-line no-control-regex
const NEEDS_ESCAPES = /["\\\u0000-\u001f]/;
const BACKSLASH = 0x5c;
const BLANKS = /[ \t\n\r]*/y;

/**
 * Writes escaped names in another way. Undefined where there are none, and for a text that is not JSON.
 * Reads each text with an escape to its end and no other ones.
 */
export function withPlainNames(text: string): PlainNames | undefined {
  const pieces: string[] = [];
  const standIns = new Map<string, string>();
  let prefix: string | undefined;
  let copied = 0;
  for (let escape = text.indexOf('\\'); escape !== -1;) {
    const end = endOfText(text, escape);
    if (end === -1) return undefined;
    if (isName(text, end)) {
      const start = text.lastIndexOf('"', escape);
      const name = nameOf(text.slice(start, end + 1));
      if (name === undefined) return undefined;
      let written = name;
      if (NEEDS_ESCAPES.test(name)) {
        prefix ??= unusedPrefix(text);
        written = `${prefix}${Array.from(name, (one) => one.codePointAt(0)).join('.')}`;
        standIns.set(written, name);
      }
      pieces.push(text.slice(copied, start), `"${written}"`);
      copied = end + 1;
    }
    escape = text.indexOf('\\', end + 1);
  }
  return pieces.length === 0
    ? undefined
    : { text: `${pieces.join('')}${text.slice(copied)}`, standIns };
}

/** The quote behind a text of which `from` is inside; -1 where it has no end. */
function endOfText(text: string, from: number): number {
  for (let at = from; ;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return -1;
    let before = quote;
    while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 0) return quote;
    at = quote + 1;
  }
}

function isName(text: string, end: number): boolean {
  BLANKS.lastIndex = end + 1;
  BLANKS.test(text);
  return text[BLANKS.lastIndex] === ':';
}

function nameOf(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

/** Begins no name of the text. */
function unusedPrefix(text: string): string {
  let prefix = '\ue000';
  while (text.includes(prefix)) prefix += '\ue001';
  return prefix;
}
