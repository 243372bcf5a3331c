import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { XmlReferences } from '../../../lib/text/xml-references.ts';
import { isObject, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

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
    entityDecoder: new XmlReferences(),
    ignoreDeclaration: true,
    ignorePiTags: true,
  });
  const document = normalized(parsed(() => parser.parse(text) as JsonValue, options));
  if (!isObject(document)) return [];
  return options.recordElement === undefined
    ? childrenOfRoot(document)
    : [...elementsNamed(document, options.recordElement)];
}

/** The text of a document in the encoding that it declares, or that its first bytes show. */
export function xmlText(bytes: Buffer, name: string): string {
  const label = encodingOf(bytes);
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch (error) {
    const isUnknown = error instanceof RangeError;
    throw new ConnectorError(
      'data',
      isUnknown
        ? `${name} declares the encoding ${JSON.stringify(label)}, which is not known`
        : `${name} is not text in ${label}`,
      { hint: 'convert the file to UTF-8', cause: error },
    );
  }
}

/** The declaration stands at the start, in characters that most encodings share. */
const DECLARATION_BYTES = 200;

function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  if (first === 0xef) return 'utf-8';
  const start = bytes.subarray(0, DECLARATION_BYTES).toString('latin1');
  return /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']+)["']/.exec(start)?.[1] ?? 'utf-8';
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
