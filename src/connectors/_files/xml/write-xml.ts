import { isObject, stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { ConnectorError } from '../../../lib/errors.ts';

const NAME = /^[A-Za-z_][\w.:-]*$/;

/**
 * A value as an element, the other way round from how XML is read: `@name` is an attribute, `#text`
 * the text, a list repeats.
 */
export function xmlElement(name: string, value: JsonValue): string {
  if (!NAME.test(name))
    throw new ConnectorError(
      'data',
      `${JSON.stringify(name)} cannot be the name of an XML element`,
      { hint: 'rename the field' },
    );
  if (Array.isArray(value)) return value.map((item) => xmlElement(name, item)).join('');
  if (value === null) return `<${name}/>`;
  if (!isObject(value)) return `<${name}>${escaped(scalar(value))}</${name}>`;
  let attributes = '';
  let content = '';
  for (const [key, inner] of Object.entries(value)) {
    if (key === '#text') content += escaped(scalar(inner));
    else if (key.startsWith('@')) attributes += attribute(key.slice(1), inner);
    else content += xmlElement(key, inner);
  }
  return content === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${content}</${name}>`;
}

function attribute(name: string, value: JsonValue): string {
  if (!NAME.test(name))
    throw new ConnectorError(
      'data',
      `${JSON.stringify(name)} cannot be the name of an XML attribute`,
      { hint: 'rename the field' },
    );
  return value === null ? '' : ` ${name}="${escaped(scalar(value)).replaceAll('"', '&quot;')}"`;
}

function scalar(value: JsonValue): string {
  return typeof value === 'string' ? value : stringifyJson(value);
}

/** XML has no way to write most control characters; they become the replacement character. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
    .replaceAll(/[^\P{Cc}\t\n]/gu, '\uFFFD');
}
