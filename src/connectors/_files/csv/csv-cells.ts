const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Bytes needed for each byte inside a JSON string: 1 without an escape, 2 with a short escape, 6 as
 * `\u00xx`.
 */
const JSON_WIDTH = jsonWidths();

function jsonWidths(): Uint8Array {
  const widths = new Uint8Array(256).fill(1);
  for (let byte = 0; byte < 256; byte += 1) {
    if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH)
      widths[byte] = JSON.stringify(String.fromCharCode(byte)).length - 2;
  }
  return widths;
}

/** The bytes of one unquoted cell. */
export interface CellText {
  bytes: Buffer;
  start: number;
  end: number;
}

/** Reads each cell into the same `CellText` object, so that no object is made per cell. */
export class CellReader {
  readonly text: CellText = { bytes: Buffer.alloc(0), start: 0, end: 0 };
  #buffer = Buffer.allocUnsafeSlow(1024);
  readonly #quote: number;

  constructor(quote: number) {
    this.#quote = quote;
  }

  /** `end` comes from the scanner: `~e` means that the cell still has its quotes. */
  read(bytes: Buffer, start: number, end: number): CellText {
    const { text } = this;
    if (end >= 0) {
      text.bytes = bytes;
      text.start = start;
      text.end = end;
      return text;
    }
    if (this.#buffer.length < ~end - start)
      this.#buffer = Buffer.allocUnsafeSlow((~end - start) * 2);
    text.bytes = this.#buffer;
    text.start = 0;
    text.end = unquote(bytes, start, ~end, { quote: this.#quote, into: this.#buffer });
    return text;
  }

  string(bytes: Buffer, found: { readonly cells: Int32Array }, cell: number): string {
    const text = this.read(bytes, found.cells[cell * 2] ?? 0, found.cells[cell * 2 + 1] ?? 0);
    return text.bytes.toString('utf8', text.start, text.end);
  }
}

/** Copies a quoted cell without its quotes; returns the number of bytes written. */
export function unquote(
  bytes: Uint8Array,
  start: number,
  end: number,
  target: { quote: number; into: Uint8Array },
): number {
  const { quote, into } = target;
  let written = 0;
  let at = start + 1;
  for (; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) {
      at += 1;
      if (bytes[at] !== quote || at >= end) break;
    }
    into[written] = byte;
    written += 1;
  }
  for (; at < end; at += 1) {
    into[written] = bytes[at] ?? 0;
    written += 1;
  }
  return written;
}

/** Size of the cell as a JSON string, with quotes; `~size` when it is not all ASCII. */
export function jsonSize(cell: CellText): number {
  const { bytes, start, end } = cell;
  let size = 2;
  let seen = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    seen |= byte;
    size += JSON_WIDTH[byte] as number;
  }
  return seen < 0x80 ? size : ~size;
}

/** Whether the cell is equal to one of the texts. */
export function isOneOf(cell: CellText, texts: readonly Uint8Array[]): boolean {
  const { bytes, start, end } = cell;
  return texts.some(
    (text) =>
      text.length === end - start && text.every((byte, index) => bytes[start + index] === byte),
  );
}
