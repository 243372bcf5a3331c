/**
 * Finds out whether bytes are JSON that would be written in the same bytes again once it was read:
 * without spaces, with the shortest escapes, with numbers as JavaScript writes them, and with names that an object
 * keeps in their order. Such a value can be passed on as it is. Anything else gives `false`, also
 * what is JSON in another spelling: whoever asks then reads the value, and knows.
 */
import { isUtf8 } from 'node:buffer';

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const NOT_ASCII = 128;

const WORDS = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')] as const;
/** With more digits a double may be another number. */
const MOST_DIGITS = 15;
/** Below 0.000001 an exponent is written. */
const LAST_EARLY_PLACE = 6;
const DEEPEST = 64;
const MOST_NAMES = 256;
const NONE = -1;

/** 1: ends a stretch of plain text inside of a string. */
const SPECIAL = new Uint8Array(256);
SPECIAL.fill(1, 0, 32);
SPECIAL[QUOTE] = 1;
SPECIAL[BACKSLASH] = 1;

/** 1: has one escape, which everybody writes. */
const ESCAPED = new Uint8Array(256);
for (const letter of Buffer.from('"\\\\bfnrt')) ESCAPED[letter] = 1;

export class PlainJson {
  #bytes: Uint8Array = new Uint8Array();
  #to = 0;
  /** All bytes of strings, to know whether one of them is no ASCII. */
  #seen = 0;
  #hasEscapes = false;
  /** The names of the objects that are open: where each begins and ends. */
  readonly #starts = new Int32Array(MOST_NAMES);
  readonly #ends = new Int32Array(MOST_NAMES);
  #names = 0;

  /** Whether it is one such value from `from` to `to`. */
  holds(bytes: Uint8Array, from: number, to: number): boolean {
    this.#bytes = bytes;
    this.#to = to;
    this.#seen = 0;
    this.#hasEscapes = false;
    this.#names = 0;
    if (this.#value(from, 0) !== to) return false;
    return this.#seen < NOT_ASCII || isUtf8(bytes.subarray(from, to));
  }

  /** Whether a string of the last value has a backslash. */
  get hasEscapes(): boolean {
    return this.#hasEscapes;
  }

  /** Whether a text of JSON holds these bytes as they are, from `from` to `to`. */
  holdsText(bytes: Uint8Array, from: number, to: number): boolean {
    let seen = 0;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] as number;
      if (SPECIAL[byte] === 1) return false;
      seen |= byte;
    }
    return seen < NOT_ASCII || isUtf8(bytes.subarray(from, to));
  }

  /** Where the value ends that begins there; `NONE` where it is not plain. */
  #value(at: number, depth: number): number {
    const first = at < this.#to ? (this.#bytes[at] as number) : NONE;
    if (first === QUOTE) return this.#string(at);
    if (first === MINUS || (first >= ZERO && first <= NINE)) return this.#number(at);
    if (depth === DEEPEST) return NONE;
    if (first === OPEN_OBJECT) return this.#object(at, depth + 1);
    if (first === OPEN_LIST) return this.#list(at, depth + 1);
    return this.#word(at);
  }

  #object(from: number, depth: number): number {
    const bytes = this.#bytes;
    let at = from + 1;
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    const outer = this.#names;
    for (;;) {
      if (bytes[at] !== QUOTE || at >= this.#to) return NONE;
      const end = this.#string(at);
      if (end === NONE || !this.#addName(at + 1, end - 1, outer) || bytes[end] !== COLON)
        return NONE;
      at = this.#value(end + 1, depth);
      if (at === NONE) return NONE;
      if (bytes[at] === CLOSE_OBJECT) break;
      if (bytes[at] !== COMMA) return NONE;
      at += 1;
    }
    this.#names = outer;
    return at + 1;
  }

  #list(from: number, depth: number): number {
    const bytes = this.#bytes;
    let at = from + 1;
    if (bytes[at] === CLOSE_LIST) return at + 1;
    for (;;) {
      at = this.#value(at, depth);
      if (at === NONE) return NONE;
      if (bytes[at] === CLOSE_LIST) return at + 1;
      if (bytes[at] !== COMMA) return NONE;
      at += 1;
    }
  }

  #string(from: number): number {
    const bytes = this.#bytes;
    const to = this.#to;
    let seen = 0;
    let at = from + 1;
    for (; at < to; at += 1) {
      const byte = bytes[at] as number;
      if (SPECIAL[byte] === 0) seen |= byte;
      else if (byte === BACKSLASH && at + 1 < to && ESCAPED[bytes[at + 1] as number] === 1) {
        this.#hasEscapes = true;
        at += 1;
      } else break;
    }
    this.#seen |= seen;
    return at < to && bytes[at] === QUOTE ? at + 1 : NONE;
  }

  /** Of two equal names the last value would win, and names that look like numbers come first. */
  #addName(start: number, end: number, outer: number): boolean {
    const count = this.#names;
    const first = this.#bytes[start] as number;
    if (count === MOST_NAMES || (first >= ZERO && first <= NINE)) return false;
    for (let index = outer; index < count; index += 1)
      if (this.#isSame(index, start, end)) return false;
    this.#starts[count] = start;
    this.#ends[count] = end;
    this.#names = count + 1;
    return true;
  }

  #isSame(index: number, start: number, end: number): boolean {
    const bytes = this.#bytes;
    const other = this.#starts[index] as number;
    const length = end - start;
    if ((this.#ends[index] as number) - other !== length) return false;
    for (let at = 0; at < length; at += 1)
      if (bytes[other + at] !== bytes[start + at]) return false;
    return true;
  }

  #number(from: number): number {
    const bytes = this.#bytes;
    const start = bytes[from] === MINUS ? from + 1 : from;
    const point = this.#digits(start);
    const whole = point - start;
    if (whole === 0 || whole > MOST_DIGITS || (bytes[start] === ZERO && whole > 1)) return NONE;
    if (bytes[point] !== DOT || point >= this.#to)
      // Negative zero loses its sign.
      return this.#isOver(point) && (start === from || bytes[start] !== ZERO) ? point : NONE;
    const end = this.#digits(point + 1);
    const places = end - point - 1;
    if (places === 0 || whole + places > MOST_DIGITS || bytes[end - 1] === ZERO) return NONE;
    if (bytes[start] === ZERO && !this.#hasEarlyDigit(point + 1)) return NONE;
    return this.#isOver(end) ? end : NONE;
  }

  #digits(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (; at < this.#to; at += 1) {
      const byte = bytes[at] as number;
      if (byte < ZERO || byte > NINE) break;
    }
    return at;
  }

  /** No exponent and no second point follows. */
  #isOver(at: number): boolean {
    if (at >= this.#to) return true;
    const byte = this.#bytes[at] as number;
    return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST;
  }

  #hasEarlyDigit(from: number): boolean {
    for (let at = from; at < from + LAST_EARLY_PLACE && at < this.#to; at += 1) {
      const byte = this.#bytes[at] as number;
      if (byte > ZERO && byte <= NINE) return true;
    }
    return false;
  }

  #word(from: number): number {
    for (const word of WORDS) {
      let at = 0;
      while (at < word.length && from + at < this.#to && this.#bytes[from + at] === word[at])
        at += 1;
      if (at === word.length) return from + at;
    }
    return NONE;
  }
}
