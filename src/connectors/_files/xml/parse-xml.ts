/**
 * XML as JSON: `@name` for attributes, `#text` beside attributes or children, lists for repeated
 * elements, null for empty ones.
 */
import type { X2jOptions, XMLParser } from 'fast-xml-parser';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { XmlReferences } from '../../../lib/text/xml-references.ts';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';

/** The parser's ordered form: one key with the children, attributes under `:@`. */
type Node = Readonly<Record<string, unknown>>;

const ATTRIBUTES = ':@';
const TEXT = '#text';
const CDATA = '#cdata';

const library = lazyLibrary<typeof import('fast-xml-parser')>('fast-xml-parser');

const OPTIONS: X2jOptions = {
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  cdataPropName: CDATA,
  textNodeName: TEXT,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
};

/** `{root: …}`. Errors show `name`. */
export function parseXml(text: string, name: string): JsonValue {
  const { XMLParser: Parser, XMLValidator } = library();
  const valid = XMLValidator.validate(text, { allowBooleanAttributes: false });
  if (valid !== true)
    throw new ConnectorError(
      'data',
      `${name} is not XML: ${valid.err.msg} (line ${valid.err.line})`,
    );
  return childrenOf(
    parsed(new Parser({ ...OPTIONS, entityDecoder: new XmlReferences() }), text, name),
    {},
  );
}

function parsed(parser: XMLParser, text: string, name: string): Node[] {
  try {
    return parser.parse(text) as Node[];
  } catch (error) {
    throw new ConnectorError('data', `${name} is not XML: ${messageOf(error)}`, { cause: error });
  }
}

function childrenOf(
  nodes: readonly Node[],
  attributes: Readonly<Record<string, unknown>>,
): JsonValue {
  const found: JsonObject = {};
  for (const [name, value] of Object.entries(attributes)) setField(found, name, String(value));
  const texts: string[] = [];
  for (const node of nodes) {
    const tag = Object.keys(node).find((key) => key !== ATTRIBUTES) ?? TEXT;
    if (tag === TEXT) texts.push(String(node[TEXT]));
    else if (tag === CDATA) texts.push(cdataText(node[CDATA]));
    else
      addElement(
        found,
        tag,
        childrenOf(
          (node[tag] ?? []) as Node[],
          (node[ATTRIBUTES] ?? {}) as Readonly<Record<string, unknown>>,
        ),
      );
  }
  const text = texts.filter((one) => one !== '').join(' ');
  if (Object.keys(found).length === 0) return text === '' ? null : text;
  if (text !== '') setField(found, TEXT, text);
  return found;
}

function cdataText(value: unknown): string {
  return (value as readonly Node[])
    .map((node) => (typeof node[TEXT] === 'string' ? node[TEXT] : ''))
    .join('');
}

function addElement(parent: JsonObject, tag: string, value: JsonValue): void {
  if (!hasField(parent, tag)) {
    setField(parent, tag, value);
    return;
  }
  const before = parent[tag];
  // An element itself is never a list, so a list here holds repeated elements.
  if (Array.isArray(before)) before.push(value);
  else setField(parent, tag, [before ?? null, value]);
}

/**
 * The elements that match a dot path anywhere in the document; prefixes of names are ignored. A
 * repeated element gives one value each.
 */
export function elementsAt(document: JsonValue, path: string): JsonValue[] {
  const steps = path
    .split('.')
    .filter((step) => step !== '')
    .map(localName);
  return searchElements(document, steps);
}

function searchElements(value: JsonValue, steps: readonly string[]): JsonValue[] {
  const here = follow(value, steps);
  if (here.length > 0) return here;
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.flatMap((one) => searchElements(one, steps));
}

function follow(value: JsonValue, steps: readonly string[]): JsonValue[] {
  let found = [value];
  for (const step of steps) {
    found = found.flatMap((one) =>
      isObject(one)
        ? Object.entries(one).flatMap(([name, child]) =>
            localName(name) === step ? (Array.isArray(child) ? child : [child]) : [],
          )
        : [],
    );
  }
  return found;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
