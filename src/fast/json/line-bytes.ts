/** How values are written into lines of JSON byte by byte: names, escapes, and constant parts. */

const BACKSLASH = 92;
const QUOTE = 34;
const SPACE = 32;
const LARGE_ROW = 64 * 1024;

/**
 * 1: ends a plain stretch of text (end of the field, a backslash, a quote, a control character).
 */
export const SPECIAL = new Uint8Array(256);
SPECIAL.fill(1, 0, SPACE);
SPECIAL[QUOTE] = 1;
SPECIAL[BACKSLASH] = 1;

export const WORD = 4;

/** What stands before a value. */
export interface Lead {
  /** `{"name":` or `,"name":`, filled up to whole words. */
  readonly lead: Int32Array;
  readonly leadBytes: number;
}

export function wordsOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Of the column at `index`. */
export function leadOf(name: string, index: number): Lead {
  const text = `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`;
  const bytes = Buffer.from(text);
  const padded = new Uint8Array(Math.ceil(bytes.length / WORD) * WORD);
  padded.set(bytes);
  const words = new DataView(padded.buffer);
  return {
    lead: Int32Array.from({ length: padded.length / WORD }, (_, word) =>
      words.getInt32(word * WORD, true),
    ),
    leadBytes: bytes.length,
  };
}

/** What stands behind the lead is overwritten by the value. */
export function putWords(out: DataView, length: number, { lead, leadBytes }: Lead): number {
  for (let index = 0; index < lead.length; index += 1)
    out.setInt32(length + index * WORD, lead[index] as number, true);
  return length + leadBytes;
}

/**
 * Whether one of four bytes may be a control character, a quote or a backslash; may be true when none
 * is.
 */
export function isSpecial(word: number): boolean {
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  return (
    ((((word - 0x20202020) & ~word) |
      ((quote - 0x01010101) & ~quote) |
      ((backslash - 0x01010101) & ~backslash)) &
      0x80808080) !==
    0
  );
}

export const NULL = Buffer.from('null');
export const TRUE = Buffer.from('true');
export const FALSE = Buffer.from('false');
export const VERTICAL_TAB = Buffer.from('\\u000b');
export const CONTROLS = Array.from({ length: SPACE }, (_, code) =>
  Buffer.from(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
);

export function put(out: Uint8Array, length: number, bytes: Uint8Array): number {
  let end = length;
  for (let index = 0; index < bytes.length; index += 1) out[end++] = bytes[index] as number;
  return end;
}

export function putPair(out: Uint8Array, length: number, escaped: number): number {
  out[length] = BACKSLASH;
  out[length + 1] = escaped;
  return length + 2;
}

/** What a row can at most become: a control character takes six bytes, a quote two. */
export function mostBytes(rows: Uint8Array, from: number, to: number): number {
  const size = to - from;
  if (size < LARGE_ROW) return size * 6;
  let extra = 0;
  for (let at = from; at < to; at += 1) extra += SPECIAL[rows[at] as number] === 0 ? 0 : 5;
  return size + extra;
}
