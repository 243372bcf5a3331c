import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

const TEXT = '#text';
const ATTRIBUTE = '@';

export interface XmlOptions {
  readonly recordElement: string | undefined;
  readonly name: string;
}

/** The records of an XML document; all values are strings, an empty element is null. */
export async function xmlRecords(text: string, options: XmlOptions): Promise<JsonValue[]> {
  const { XMLParser, XMLValidator } = await import('fast-xml-parser');
  const verdict = XMLValidator.validate(text);
  if (verdict !== true)
    throw new ConnectorError(
      'data',
      `line ${verdict.err.line} of ${options.name} is not well-formed XML: ${told(verdict.err.msg)}`,
    );
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: ATTRIBUTE,
    textNodeName: TEXT,
    parseTagValue: false,
    parseAttributeValue: false,
    ignoreDeclaration: true,
    ignorePiTags: true,
  });
  const document = normalized(parsed(() => parser.parse(text) as JsonValue, options));
  if (!isObject(document)) return [];
  return options.recordElement === undefined
    ? childrenOfRoot(document)
    : [...elementsNamed(document, options.recordElement)];
}

/** What is still open at the end of the text is told by the library as a list in JSON. */
function told(message: string): string {
  const open = /^Invalid '(\[[\s\S]*\])' found/.exec(message)?.[1];
  const names =
    open === undefined ? [] : [...open.matchAll(/"([^"]*)"/g)].map((match) => `<${match[1]}>`);
  return names.length === 0
    ? message
    : `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not closed`;
}

function parsed(work: () => JsonValue, { name }: XmlOptions): JsonValue {
  try {
    return work();
  } catch (error) {
    throw new ConnectorError('data', `cannot read ${name} as XML: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function normalized(value: JsonValue): JsonValue {
  if (value === '') return null;
  if (Array.isArray(value)) return value.map(normalized);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    // An attribute without text is an empty text, not the absence of one.
    const field = key.startsWith(ATTRIBUTE) ? inner : normalized(inner);
    if (key !== TEXT || field !== null) setField(out, key, field);
  }
  return out;
}

function childrenOfRoot(document: JsonObject): JsonValue[] {
  const [root] = Object.values(document);
  if (!isObject(root)) return [];
  return Object.entries(root).flatMap(([key, value]) =>
    key === TEXT || key.startsWith(ATTRIBUTE) ? [] : listOf(value),
  );
}

function* elementsNamed(value: JsonValue, name: string): Generator<JsonValue> {
  if (Array.isArray(value)) {
    for (const item of value) yield* elementsNamed(item, name);
  } else if (isObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      if (key === name) yield* listOf(inner);
      else yield* elementsNamed(inner, name);
    }
  }
}

function listOf(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : [value];
}
