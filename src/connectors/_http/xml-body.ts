import { ConnectorError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { parseXml } from '../../lib/xml/xml-document.ts';
import { isCutXml } from '../../lib/xml/xml-events.ts';
import { xmlText } from '../../lib/xml/xml-text.ts';
import { cutOff } from './body.ts';

/** The document of a body in XML; `where` describes the response in messages. */
export function xmlBody(bytes: Uint8Array, where: string): JsonValue {
  try {
    return parseXml(xmlText(bytes, where), where);
  } catch (error) {
    if (error instanceof ConnectorError && isCutXml(error)) throw cutOff(where, bytes);
    throw error;
  }
}
