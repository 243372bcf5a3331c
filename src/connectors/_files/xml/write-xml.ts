import { escapeXmlAttribute, escapeXmlText } from './xml-escape.ts';
import { exactField, isContainer, plainJson } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
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
  if (Array.isArray(value))
    return value.map((_, index) => xmlElement(name, exactField(value, String(index)))).join('');
  if (plainJson(value) === null) return `<${name}/>`;
  if (!isContainer(value)) return `<${name}>${escapeXmlText(scalar(value))}</${name}>`;
  let attributes = '';
  let content = '';
  for (const key of Object.keys(value)) {
    const inner = exactField(value, key);
    if (key === '#text') content += escapeXmlText(scalar(inner));
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
  return plainJson(value) === null ? '' : ` ${name}="${escapeXmlAttribute(scalar(value))}"`;
}

function scalar(value: JsonValue): string {
  return typeof value === 'string' ? value : stringifyJson(value);
}
