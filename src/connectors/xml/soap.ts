/** SOAP envelopes (https://www.w3.org/TR/soap11, https://www.w3.org/TR/soap12-part1). */
import { isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import { elementsBelow } from '../../lib/xml/xml-document.ts';
import { escapeXmlAttribute } from '../_files/xml/xml-escape.ts';
import type { HttpRequest } from '../_http/client.ts';
import type { XmlConfig } from './config.ts';

type Soap = NonNullable<XmlConfig['soap']>;

const NAMESPACES = {
  '1.1': 'http://schemas.xmlsoap.org/soap/envelope/',
  '1.2': 'http://www.w3.org/2003/05/soap-envelope',
} as const;

export function envelope({ version, namespaces }: Soap, inner: string): string {
  const declared = Object.entries({ soap: NAMESPACES[version], ...namespaces })
    .map(([prefix, uri]) => ` xmlns:${prefix}="${escapeXmlAttribute(uri)}"`)
    .join('');
  return `<?xml version="1.0" encoding="UTF-8"?><soap:Envelope${declared}><soap:Body>${inner}</soap:Body></soap:Envelope>`;
}

/** The content type and, in version 1.1, the header that names the action. */
export function soapHeaders({ version, action }: Soap): {
  readonly type: string;
  readonly headers: NonNullable<HttpRequest['headers']>;
} {
  const quoted = `"${(action ?? '').replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  if (version === '1.1')
    return { type: 'text/xml; charset=utf-8', headers: { SOAPAction: quoted } };
  const parameter = action === undefined ? '' : `; action=${quoted}`;
  return { type: `application/soap+xml; charset=utf-8${parameter}`, headers: {} };
}

/** What is inside the Body of an envelope; undefined when it is none. */
export function bodyOf(document: JsonValue): JsonValue | undefined {
  return elementsBelow(document, 'Envelope.Body')[0];
}

/** The words of a Fault, if the answer is one. */
export function faultOf(document: JsonValue): string | undefined {
  const [fault] = elementsBelow(document, 'Envelope.Body.Fault');
  if (fault === undefined) return undefined;
  const found = ['faultstring', 'Reason.Text', 'faultcode', 'Code.Value'].flatMap((path) =>
    elementsBelow(fault, path),
  );
  const [words] = found;
  return jsonText(isObject(words) ? (words['#text'] ?? words) : (words ?? fault));
}
