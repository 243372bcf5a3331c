import type { SaxesParser } from 'saxes';
import { ConnectorError, messageOf } from '../errors.ts';
import { lazyLibrary } from '../lazy.ts';

const library = lazyLibrary<typeof import('saxes')>('saxes');

/** Called in the order of the document. Nothing outside the root element is reported. */
export interface XmlHandler {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  /** Character data between two pieces of markup, its references resolved. */
  text(text: string): void;
  cdata(text: string): void;
  close(name: string): void;
}

/** Records nested deeper would exhaust the stack when they are serialized. */
const MAX_DEPTH = 1000;

/** Parses a document that comes as one or several pieces of text. Errors name `name` and the line. */
export function parseXmlEvents(chunks: Iterable<string>, name: string, handler: XmlHandler): void {
  const parser = new (library().SaxesParser)({ xmlns: false });
  const open: string[] = [];
  let closed = '';
  parser.ENTITIES = new Entities(parser).table;
  parser.on('opentag', (tag) => {
    if (open.push(tag.name) > MAX_DEPTH)
      throw new Error(`its elements are nested more than ${MAX_DEPTH} levels deep`);
    handler.open(tag.name, tag.attributes);
  });
  parser.on('closetag', (tag) => {
    open.pop();
    closed = tag.name;
    handler.close(tag.name);
  });
  parser.on('text', (text) => {
    if (open.length > 0) handler.text(text);
  });
  parser.on('cdata', (text) => handler.cdata(text));
  let last = '';
  try {
    for (last of chunks) parser.write(last);
  } catch (error) {
    throw notWellFormed(parser, name, error, mismatch(error, closed));
  }
  try {
    parser.close();
  } catch (error) {
    throw notWellFormed(parser, name, error, notClosed(open, last));
  }
}

function notWellFormed(
  { line }: SaxesParser,
  name: string,
  cause: unknown,
  reason?: string,
): ConnectorError {
  if (cause instanceof ConnectorError) return cause;
  const why =
    reason ??
    messageOf(cause)
      .replace(/^\d+:\d+: /, '')
      .replace(/\.$/, '');
  return new ConnectorError('data', `line ${line} of ${name} is not well-formed XML: ${why}`, {
    hint: HINTS.find(([pattern]) => pattern.test(why))?.[1] ?? OTHER_HINT,
    cause,
  });
}

const OTHER_HINT = 'correct the document there, or have it written again';
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/levels deep|expands to more/, 'read a part of the document, or have it written flatter'],
  [/not supported/, 'have the document written without that entity'],
  [/entity `&/, 'declare the entity in the DOCTYPE, or write its character'],
  [/&amp;/, 'write `&amp;` for each `&` that stands for itself'],
  [
    /not closed/,
    'the document may be cut off: compare its size with that at its origin, and fetch it again',
  ],
  [/is open/, 'close the elements in the order in which they lie in each other'],
];

function mismatch(error: unknown, innermost: string): string | undefined {
  return messageOf(error).includes('unexpected close tag')
    ? `<${innermost}> is open, and another element is closed`
    : undefined;
}

/** The parser looks for the end of a reference up to the end of the text. */
const LONE_AMPERSAND = /&(?!#?\w[^\s;&<"']*;)/;

function notClosed(open: readonly string[], text: string): string | undefined {
  if (open.length === 0) return undefined;
  const names = open.map((one) => `<${one}>`).join(', ');
  const verdict = `${names} ${open.length === 1 ? 'is' : 'are'} not closed`;
  return LONE_AMPERSAND.test(text)
    ? `${verdict}; an \`&\` that starts no reference must be written \`&amp;\``
    : verdict;
}

const PREDEFINED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
};
/** A short document that refers to a long entity many times could make any amount of text. */
const MAX_EXPANDED = 10_000_000;
const DECLARATION = /<!ENTITY\s+([^\s%"'<>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>/g;

/** The entities of one document: the predefined ones and those that its DOCTYPE declares. */
class Entities {
  readonly #declared = new Map<string, string>();
  #expanded = 0;

  constructor(parser: SaxesParser) {
    parser.on('doctype', (text) => {
      const declarations = text.replaceAll(/<!--[\s\S]*?-->/g, '').matchAll(DECLARATION);
      for (const [, name = '', double, single] of declarations)
        // The first declaration of a name is binding.
        if (!this.#declared.has(name)) this.#declared.set(name, double ?? single ?? '');
    });
  }

  /** What the parser looks names up in. */
  get table(): Record<string, string> {
    return new Proxy<Record<string, string>>({}, { get: (_, name) => this.#value(String(name)) });
  }

  #value(name: string): string {
    const known = Object.hasOwn(PREDEFINED, name) ? PREDEFINED[name] : undefined;
    if (known !== undefined) return known;
    if (/[\s<&]/.test(name))
      throw new Error('an `&` that starts no reference must be written `&amp;`');
    return this.#expand(name, []);
  }

  /** `within` are the entities in whose text the reference stands. */
  #expand(name: string, within: readonly string[]): string {
    const declared = this.#declared.get(name);
    if (declared === undefined) throw new Error(`the entity \`&${name};\` is not defined`);
    if (within.includes(name)) throw new Error(`the entity \`&${name};\` contains itself`);
    // A reference counts too: entities without text could refer to each other without end.
    this.#expanded += declared.length + 1;
    if (this.#expanded > MAX_EXPANDED)
      throw new Error(`the entity \`&${name};\` expands to more than ${MAX_EXPANDED} characters`);
    return replacementText(name, declared).replaceAll(/&([^;]*);|&/g, (_all, inner?: string) => {
      if (inner === undefined) throw containsMarkup(name);
      if (inner.startsWith('#')) return characterOf(inner);
      const known = Object.hasOwn(PREDEFINED, inner) ? PREDEFINED[inner] : undefined;
      return known ?? this.#expand(inner, [...within, name]);
    });
  }
}

/** What stands for a reference: references to characters are replaced where an entity is declared. */
function replacementText(name: string, declared: string): string {
  const text = declared.replaceAll(/&(#x[\dA-Fa-f]+|#\d+);/g, (_all, code: string) =>
    characterOf(code),
  );
  if (text.includes('<')) throw containsMarkup(name);
  return text;
}

function containsMarkup(name: string): Error {
  return new Error(`the entity \`&${name};\` contains markup, which is not supported`);
}

function characterOf(reference: string): string {
  const code = reference.startsWith('#x')
    ? Number.parseInt(reference.slice(2), 16)
    : Number.parseInt(reference.slice(1), 10);
  if (!(code > 0 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff))
    throw new Error(`\`&${reference};\` is no character`);
  return String.fromCodePoint(code);
}
