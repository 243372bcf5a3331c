import { isUtf8 } from 'node:buffer';
import { jsonFault, parseData, stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { withSourceText } from '../../../lib/text/json-literal.ts';

/** A text may begin with U+FEFF, which decoders otherwise take for a mark of its encoding. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Said of a column; the file is not damaged otherwise. */
export class WrongText extends Error {
  readonly hint: string;

  constructor(message: string, wanted: string) {
    super(message);
    this.hint = `leave it out with \`columns\`, or have the file written with ${wanted}`;
  }
}

/** Throws `WrongText`. */
export function textOf(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  // The decoder puts U+FFFD in the place of other bytes; the letter itself may stand there, too.
  if (text.includes('\uFFFD') && !isUtf8(bytes))
    throw new WrongText('a text that is not UTF-8', 'UTF-8, or with a column of bytes');
  return text;
}

/**
 * A document remembers its text where the JSON of its value is another one. Throws `WrongText` for a
 * text that is none.
 */
export function documentOf(text: string): JsonValue {
  const value = parsedDocument(text);
  return value === null || stringifyJson(value) !== text ? withSourceText(value, text) : value;
}

function parsedDocument(text: string): JsonValue {
  try {
    return parseData(text);
  } catch (error) {
    throw new WrongText(`a text that ${jsonFault(error)}`, 'JSON, or with a column of texts');
  }
}
