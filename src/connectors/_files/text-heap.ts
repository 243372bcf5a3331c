import type { TextCells } from '../../lib/duckdb-chunk.ts';
import { ESCAPED, NULL, type Column } from '../../kit/columns.ts';

const MIN_BYTES = 256 * 1024;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

/** What stands for a backslash and one more character. */
const UNESCAPED: Readonly<Record<number, number>> = Object.fromEntries(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(([letter, text]) => [
    letter.charCodeAt(0),
    text.charCodeAt(0),
  ]),
);

/** The texts of one chunk of rows, column after column, as UTF-8 bytes in one buffer that is used again. */
export class TextHeap {
  #bytes = Buffer.allocUnsafeSlow(MIN_BYTES);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Puts texts behind each other; `undefined` is null. */
  addTexts(texts: readonly (string | undefined)[]): TextCells {
    const cells = emptyCells(texts.length);
    for (const [row, text] of texts.entries()) {
      if (text === undefined) continue;
      // A character is three bytes at most (four for two of them).
      this.#ensure(text.length * 3);
      cells.starts[row] = this.#length;
      this.#length += this.#bytes.write(text, this.#length, 'utf8');
      cells.ends[row] = this.#length;
    }
    return cells;
  }

  /** Takes the bytes that cells of columns lie in; what it returns is to be added to where they lie. */
  addBlock(block: Uint8Array): number {
    this.#ensure(block.length);
    const at = this.#length;
    this.#bytes.set(block, at);
    this.#length += block.length;
    return at;
  }

  /** The cells of some rows of a column that holds texts and nulls only; their bytes lie here already, moved by `shift`. No column: all null. */
  addCells(column: Column | undefined, rows: Uint32Array, shift: number): TextCells {
    const cells = emptyCells(rows.length);
    if (column === undefined) return cells;
    const { starts, ends, kinds } = column;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index] as number;
      const kind = kinds[row] as number;
      if (kind <= NULL) continue;
      const start = (starts[row] as number) + shift;
      const end = (ends[row] as number) + shift;
      cells.starts[index] = kind === ESCAPED ? this.#length : start;
      cells.ends[index] = kind === ESCAPED ? this.#unescape(start, end) : end;
    }
    return cells;
  }

  /** Puts the text that is spelled there behind all others; returns where it ends. */
  #unescape(start: number, end: number): number {
    this.#ensure(end - start);
    const bytes = this.#bytes;
    let to = this.#length;
    for (let at = start; at < end; at += 1, to += 1) {
      const byte = bytes[at] as number;
      if (byte !== BACKSLASH) {
        bytes[to] = byte;
        continue;
      }
      at += 1;
      const letter = bytes[at] as number;
      if (letter === LOWER_U) return this.#parse(start, end);
      bytes[to] = UNESCAPED[letter] as number;
    }
    this.#length = to;
    return to;
  }

  #parse(start: number, end: number): number {
    const text = JSON.parse(`"${this.#bytes.toString('utf8', start, end)}"`) as string;
    this.#ensure(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
    return this.#length;
  }

  #ensure(size: number): void {
    const wanted = this.#length + size;
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** All null. */
function emptyCells(rows: number): TextCells {
  return { starts: new Uint32Array(rows).fill(1), ends: new Uint32Array(rows) };
}
