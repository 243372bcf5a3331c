/** Values of messages, as bytes and as JSON. */
import { ConnectorError } from '../../lib/errors.ts';
import { parseData, type JsonValue } from '../../lib/text/json.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `undefined` for bytes that are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

export function textOf(bytes: Uint8Array, what: string): string {
  const text = utf8Text(bytes);
  if (text !== undefined) return text;
  throw new ConnectorError('data', `${what} is not UTF-8 text`);
}

const LOOKS_LIKE_JSON = /^\s*(?:[[{"\d-]|(?:true|false|null)\s*$)/;

/** What the text holds as JSON; a text that is none is itself the value. */
export function jsonOrText(text: string): JsonValue {
  if (!LOOKS_LIKE_JSON.test(text)) return text;
  try {
    return parseData(text);
  } catch {
    return text;
  }
}
