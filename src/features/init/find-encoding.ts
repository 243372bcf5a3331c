/** The encoding of a text, found by its bytes, and what says so. */
import { isUtf8 } from 'node:buffer';

export interface FoundEncoding {
  /** As the `encoding` of a source names it. */
  readonly name: string;
  /** Without a byte order mark. */
  readonly text: string;
  /** Absent for plain UTF-8. */
  readonly because?: string;
}

export function findEncoding(bytes: Buffer): FoundEncoding {
  const marked = markedAs(bytes) ?? utf16By(bytes);
  if (marked !== undefined) return decoded(bytes, marked.name, marked.because);
  const whole = withoutCutLetter(bytes);
  if (isUtf8(whole)) return decoded(whole, 'utf-8', undefined);
  const at = firstNoUtf8(bytes);
  const line = lineOf(bytes, at);
  const byte = `0x${bytes[at]?.toString(16).toUpperCase().padStart(2, '0')}`;
  const name = singleByteName(bytes);
  const found = decoded(bytes, name, undefined);
  return {
    ...found,
    because: `line ${line} has the byte ${byte}, which is no UTF-8: ${whyOf(name, found.text)}`,
  };
}

function decoded(bytes: Buffer, name: string, because: string | undefined): FoundEncoding {
  const text = new TextDecoder(name).decode(bytes).replace(/^\ufeff/, '');
  return { name, text, ...(because === undefined ? {} : { because }) };
}

function markedAs(bytes: Buffer): { name: string; because: string | undefined } | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return { name: 'utf-16le', because: 'it begins with the byte order mark FF FE' };
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return { name: 'utf-16be', because: 'it begins with the byte order mark FE FF' };
  return undefined;
}

/** Latin letters in two bytes have an empty one each. */
function utf16By(bytes: Buffer): { name: string; because: string } | undefined {
  const pairs = Math.min(1000, Math.floor(bytes.length / 2));
  let [first, second] = [0, 0];
  for (let at = 0; at < pairs; at += 1) {
    if (bytes[2 * at] === 0) first += 1;
    if (bytes[2 * at + 1] === 0) second += 1;
  }
  if (pairs < 2 || Math.max(first, second) < pairs * 0.4) return undefined;
  return second > first
    ? { name: 'utf-16le', because: 'the second byte of most letters is empty' }
    : { name: 'utf-16be', because: 'the first byte of most letters is empty' };
}

/** A sample may end inside a letter. */
function withoutCutLetter(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) return back < lengthOf(byte) ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function lengthOf(lead: number): number {
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

function firstNoUtf8(bytes: Buffer): number {
  let [low, high] = [0, bytes.length];
  // The longest beginning that is UTF-8, but for a letter that is cut.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isUtf8(withoutCutLetter(bytes.subarray(0, middle)))) low = middle;
    else high = middle;
  }
  for (let at = Math.max(0, low - 4); at < bytes.length; at += 1)
    if ((bytes[at] ?? 0) >= 0x80) return at;
  return low;
}

function lineOf(bytes: Buffer, at: number): number {
  let line = 1;
  for (
    let place = bytes.indexOf(10);
    place !== -1 && place < at;
    place = bytes.indexOf(10, place + 1)
  )
    line += 1;
  return line;
}

const KANA = /[\u3040-\u30ff\uff66-\uff9f]/g;
/** Three or more letters beyond ASCII in a row: words of another alphabet, not accents. */
const WORDS_BEYOND = /[\u0400-\u04ff]{3,}/g;

function singleByteName(bytes: Buffer): string {
  const japanese = strictly(bytes, 'shift_jis');
  if (japanese !== undefined && (japanese.match(KANA)?.length ?? 0) > 2) return 'shift_jis';
  const beyond = bytes.reduce((count, byte) => count + (byte >= 0xc0 ? 1 : 0), 0);
  const cyrillic = new TextDecoder('windows-1251').decode(bytes).match(WORDS_BEYOND) ?? [];
  const letters = cyrillic.reduce((sum, word) => sum + word.length, 0);
  return beyond > 8 && letters > beyond * 0.7 ? 'windows-1251' : 'windows-1252';
}

function strictly(bytes: Buffer, name: string): string | undefined {
  try {
    return new TextDecoder(name, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const WHY: Readonly<Record<string, string>> = {
  shift_jis: 'it reads as Japanese',
  'windows-1251': 'its words are Cyrillic',
};

function whyOf(name: string, text: string): string {
  const shown = /[^\n\r\t,;|"]*[\u0080-\uffff][^\n\r\t,;|"]*/u.exec(text)?.[0].trim().slice(0, 30);
  return `${WHY[name] ?? `as ${name} it is`}${shown === undefined ? '' : ` ${JSON.stringify(shown)}`}`;
}
