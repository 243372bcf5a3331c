import { escapeXmlAttribute, escapeXmlText, holdsUnwritable } from './xml-escape.ts';
import { exactField, isContainer, plainJson } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { ConnectorError } from '../../../lib/errors.ts';

const NAME = /^[A-Za-z_][\w.:-]*$/;

/**
 * A value as an element, the other way round from how XML is read: `@name` is an attribute, `#text`
 * the text, a list repeats. `replaced` is called for each field of which XML cannot hold a character.
 */
export function xmlElement(
  name: string,
  value: JsonValue,
  replaced: (field: string) => void,
): string {
  const tell = (field: string, inner: JsonValue): void => {
    if (typeof inner === 'string' && holdsUnwritable(inner)) replaced(field);
  };
  if (!NAME.test(name))
    throw new ConnectorError(
      'data',
      `${JSON.stringify(name)} cannot be the name of an XML element`,
      { hint: 'rename the field' },
    );
  if (Array.isArray(value))
    return value
      .map((_, index) => xmlElement(name, exactField(value, String(index)), replaced))
      .join('');
  if (plainJson(value) === null) return `<${name}/>`;
  if (!isContainer(value)) {
    tell(name, value);
    return `<${name}>${escapeXmlText(scalar(value))}</${name}>`;
  }
  let attributes = '';
  let content = '';
  for (const key of Object.keys(value)) {
    const inner = exactField(value, key);
    if (key === '#text' || key.startsWith('@')) tell(key, inner);
    if (key === '#text') content += escapeXmlText(scalar(inner));
    else if (key.startsWith('@')) attributes += attribute(key.slice(1), inner);
    else content += xmlElement(key, inner, replaced);
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
