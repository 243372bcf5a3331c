/** Where markup ends in the text of an XML document. */

/** What begins with the key ends with the value, whatever stands between. */
const OPAQUE: readonly (readonly [string, string])[] = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
];

/** Behind the markup that begins at `at`; `undefined` where it does not end. */
export function endOfMarkup(text: string, at: number): number | undefined {
  for (const [start, end] of OPAQUE)
    if (text.startsWith(start, at)) return behind(text, end, at + start.length);
  return endOfTag(text, at);
}

function behind(text: string, end: string, from: number): number | undefined {
  const at = text.indexOf(end, from);
  return at === -1 ? undefined : at + end.length;
}

function endOfTag(text: string, from: number): number | undefined {
  for (let at = from; ;) {
    const next = nextOf(/["'>]/g, text, at);
    if (next === undefined || text[next] === '>') return next === undefined ? next : next + 1;
    const end = behind(text, text[next] ?? '', next + 1);
    if (end === undefined) return undefined;
    at = end;
  }
}

function nextOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index;
}

/** Behind the DOCTYPE of a document; `undefined` where it has none, or one that does not end. */
export function endOfDoctype(text: string): number | undefined {
  let at = nextOf(/\S/g, text, 0);
  while (at !== undefined && (text.startsWith('<?', at) || text.startsWith('<!--', at))) {
    const end = endOfMarkup(text, at);
    at = end === undefined ? undefined : nextOf(/\S/g, text, end);
  }
  if (at === undefined || !text.startsWith('<!DOCTYPE', at)) return undefined;
  let isInside = false;
  for (let from = at + 1; ;) {
    const next = nextOf(/["'<>[\]]/g, text, from);
    const found = next === undefined ? undefined : text[next];
    if (next === undefined) return undefined;
    if (found === '>' && !isInside) return next + 1;
    if (found === '[') isInside = true;
    if (found === ']') isInside = false;
    const end = found === '<' ? endOfMarkup(text, next) : endOfQuoted(text, next);
    if (end === undefined) return undefined;
    from = end;
  }
}

function endOfQuoted(text: string, at: number): number | undefined {
  const quote = text[at];
  return quote === '"' || quote === "'" ? behind(text, quote, at + 1) : at + 1;
}

const REFERENCE = /&([^#;\s&<][^;\s&<]*);/y;

/** The text with other references in the place of those in its character data. */
export function replaceReferences(
  text: string,
  replace: (name: string) => string | undefined,
): string {
  const out: string[] = [];
  let copied = 0;
  for (let at = nextOf(/[<&]/g, text, 0); at !== undefined;) {
    let end: number | undefined = at + 1;
    if (text[at] === '<') end = endOfMarkup(text, at);
    else {
      REFERENCE.lastIndex = at;
      const [all = '', name = ''] = REFERENCE.exec(text) ?? [];
      const replacement = name === '' ? undefined : replace(name);
      if (replacement !== undefined) {
        out.push(text.slice(copied, at), replacement);
        end = at + all.length;
        copied = end;
      }
    }
    // What does not end is left to the parser.
    at = end === undefined ? undefined : nextOf(/[<&]/g, text, end);
  }
  return out.length === 0 ? text : out.join('') + text.slice(copied);
}
