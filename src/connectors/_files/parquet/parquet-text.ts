import { isUtf8 } from 'node:buffer';

/** A text may begin with U+FEFF, which decoders otherwise take for a mark of its encoding. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class NotUtf8 extends Error {}

/** Throws `NotUtf8`. */
export function textOf(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  // The decoder puts U+FFFD in the place of other bytes; the letter itself may stand there, too.
  if (text.includes('\uFFFD') && !isUtf8(bytes)) throw new NotUtf8('a text that is not UTF-8');
  return text;
}
