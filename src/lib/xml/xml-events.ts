import type { SaxesParser } from 'saxes';
import { ConnectorError, messageOf } from '../errors.ts';
import { lazyLibrary } from '../lazy.ts';
import { DeclaredAttributes } from './xml-attributes.ts';
import { Entities } from './xml-entities.ts';

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
  const entities = new Entities();
  const declared = new DeclaredAttributes(entities);
  parser.on('doctype', (text) => {
    entities.declare(text);
    declared.declare(text);
  });
  parser.ENTITIES = entities.table;
  parser.on('opentag', (tag) => {
    if (open.push(tag.name) > MAX_DEPTH)
      throw new Error(`its elements are nested more than ${MAX_DEPTH} levels deep`);
    handler.open(tag.name, declared.of(tag.name, tag.attributes));
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
    for (last of entities.expandMarkup(chunks)) parser.write(last);
  } catch (error) {
    throw notWellFormed(parser, name, error, mismatch(error, closed));
  }
  try {
    parser.close();
  } catch (error) {
    const failure = notWellFormed(parser, name, error, notClosed(open, last));
    if (open.length > 0) cut.add(failure);
    throw failure;
  }
}

const cut = new WeakSet<ConnectorError>();

/** Whether it says that a document ends before its elements do. */
export function isCutXml(error: ConnectorError): boolean {
  return cut.has(error);
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
  [/contains markup/, 'have the document written without that reference'],
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
