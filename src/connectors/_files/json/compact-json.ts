/**
 * Finds lines that are already in the canonical form of this program, so that they can be copied
 * unchanged.
 */

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The result for anything the reader is not sure about. */
const UNSURE = -1;
const MAX_DEPTH = 64;
const MAX_KEY_BYTES = 1024;
/** Limit for objects whose keys change all the time. */
const MAX_SHAPES = 16_384;
const MAX_CHILDREN = 32;
/** A decimal fraction with at most this many digits is written back as it was read. */
const EXACT_DIGITS = 15;
/** With more zeros after the point a number is written with an exponent. */
const PLAIN_ZEROS = 5;

const LITERALS = ['true', 'false', 'null'].map((text) => Buffer.from(text));

/** 1 where a byte ends a run of plain text inside a string. */
export const STRING_STOPS = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
/**
 * 1 for bytes that may follow a backslash in what this program writes. Others (`\/`, `\u…`) may be
 * written differently.
 */
export const ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/** The keys of an object so far, all different; each further key leads to another shape. */
interface Shape {
  readonly parent: Shape | undefined;
  /** `"key":` in bytes. */
  readonly key: Uint8Array;
  readonly children: Shape[];
  /** The child that was used last: rows are mostly alike. */
  next: Shape | undefined;
}

/**
 * Recognises valid JSON without white space, with unique keys, and with numbers and escapes in
 * their shortest form. The bytes must be UTF-8.
 */
export class CompactJson {
  readonly #root: Shape = {
    parent: undefined,
    key: new Uint8Array(),
    children: [],
    next: undefined,
  };
  #shapes = 0;
  #bytes: Uint8Array = new Uint8Array();

  /**
   * The position of the line feed that ends the line starting at `start`; -1 when the line must be
   * parsed.
   */
  lineEnd(bytes: Uint8Array, start: number): number {
    this.#bytes = bytes;
    const end = this.#value(start, 0);
    return end !== UNSURE && bytes[end] === LINE_FEED ? end : UNSURE;
  }

  /** Where the value that starts at `start` ends; -1 when it must be parsed. */
  valueEnd(bytes: Uint8Array, start: number): number {
    this.#bytes = bytes;
    return this.#value(start, 0);
  }

  #value(at: number, depth: number): number {
    const first = this.#bytes[at] ?? 0;
    if (first === QUOTE) return this.#string(at + 1);
    if (first === OPEN_OBJECT) return depth < MAX_DEPTH ? this.#object(at + 1, depth + 1) : UNSURE;
    if (first === OPEN_LIST) return depth < MAX_DEPTH ? this.#list(at + 1, depth + 1) : UNSURE;
    if (first === MINUS || (first >= ZERO && first <= NINE)) return this.#number(at);
    const literal = LITERALS.find((text) => this.#startsWith(at, text));
    return literal === undefined ? UNSURE : at + literal.length;
  }

  /** `at` is the position after the opening quote. */
  #string(at: number): number {
    const bytes = this.#bytes;
    for (;;) {
      while (STRING_STOPS[bytes[at] as number] === 0) at += 1;
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH || ESCAPES[bytes[at + 1] as number] !== 1) return UNSURE;
      at += 2;
    }
  }

  #number(start: number): number {
    const bytes = this.#bytes;
    const whole = bytes[start] === MINUS ? start + 1 : start;
    const point = this.#digits(whole);
    const digits = point - whole;
    const isZero = bytes[whole] === ZERO;
    if (digits === 0 || (isZero && digits > 1)) return UNSURE;
    let end = point;
    if (bytes[point] === POINT) {
      end = this.#digits(point + 1);
      const decimals = end - point - 1;
      if (decimals === 0 || bytes[end - 1] === ZERO || digits + decimals > EXACT_DIGITS)
        return UNSURE;
      if (isZero && this.#zeros(point + 1) > PLAIN_ZEROS) return UNSURE;
    } else if (isZero && whole > start) return UNSURE;
    // The canonical form of a number with an exponent is not known here.
    return bytes[end] === 0x65 || bytes[end] === 0x45 ? UNSURE : end;
  }

  #digits(at: number): number {
    const bytes = this.#bytes;
    while ((bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at += 1;
    return at;
  }

  #zeros(at: number): number {
    let end = at;
    while (this.#bytes[end] === ZERO) end += 1;
    return end - at;
  }

  #list(at: number, depth: number): number {
    const bytes = this.#bytes;
    if (bytes[at] === CLOSE_LIST) return at + 1;
    for (;;) {
      at = this.#value(at, depth);
      if (at === UNSURE) return UNSURE;
      if (bytes[at] === CLOSE_LIST) return at + 1;
      if (bytes[at] !== COMMA) return UNSURE;
      at += 1;
    }
  }

  #object(at: number, depth: number): number {
    const bytes = this.#bytes;
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    let shape = this.#root;
    for (;;) {
      const child =
        shape.next !== undefined && this.#startsWith(at, shape.next.key)
          ? shape.next
          : this.#child(shape, at);
      if (child === undefined) return UNSURE;
      shape.next = child;
      shape = child;
      at = this.#value(at + child.key.length, depth);
      if (at === UNSURE) return UNSURE;
      if (bytes[at] === CLOSE_OBJECT) return at + 1;
      if (bytes[at] !== COMMA) return UNSURE;
      at += 1;
    }
  }

  #startsWith(at: number, text: Uint8Array): boolean {
    const bytes = this.#bytes;
    for (let index = 0; index < text.length; index += 1)
      if (bytes[at + index] !== text[index]) return false;
    return true;
  }

  /**
   * The shape after the key at `at`; `undefined` when the key is a duplicate or would move to
   * another position.
   */
  #child(shape: Shape, at: number): Shape | undefined {
    const known = shape.children.find((child) => this.#startsWith(at, child.key));
    if (known !== undefined) return known;
    const bytes = this.#bytes;
    const first = bytes[at + 1] ?? 0;
    // JavaScript puts keys that look like an index first, whatever the text says.
    if (bytes[at] !== QUOTE || (first >= ZERO && first <= NINE)) return undefined;
    const end = this.#string(at + 1);
    if (end === UNSURE || bytes[end] !== COLON || end - at > MAX_KEY_BYTES) return undefined;
    if (this.#shapes === MAX_SHAPES || shape.children.length === MAX_CHILDREN) return undefined;
    for (let above: Shape | undefined = shape; above?.parent !== undefined; above = above.parent) {
      if (this.#startsWith(at, above.key)) return undefined;
    }
    const child: Shape = {
      parent: shape,
      key: bytes.slice(at, end + 1),
      children: [],
      next: undefined,
    };
    shape.children.push(child);
    this.#shapes += 1;
    return child;
  }
}
