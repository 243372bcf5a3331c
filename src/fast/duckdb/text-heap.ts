import { ESCAPED, NULL, TEXT, type Column } from '../../kit/columns.ts';
import type { TextCells } from './text-chunk.ts';

const MIN_BYTES = 256 * 1024;
const MIN_ROWS = 4096;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

/** The character that a backslash and one more character mean. */
const UNESCAPED: Readonly<Record<number, number>> = Object.fromEntries(
  Object.entries({
    '"': '"',
    '\\': '\\',
    '/': '/',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
  }).map(([letter, text]) => [letter.charCodeAt(0), text.charCodeAt(0)]),
);

/** A column of texts that grows and is used again. */
export class TextColumn implements TextCells {
  starts = new Uint32Array(MIN_ROWS);
  ends = new Uint32Array(MIN_ROWS);

  /** Makes room for rows, and makes those from `from` on null. */
  clear(from: number, to: number): void {
    if (to > this.starts.length) {
      this.starts = grown(this.starts, to);
      this.ends = grown(this.ends, to);
    }
    this.starts.fill(1, from, to);
    this.ends.fill(0, from, to);
  }
}

function grown(cells: Uint32Array<ArrayBuffer>, wanted: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(wanted, cells.length * 2));
  larger.set(cells);
  return larger;
}

export interface CellPlace {
  readonly rows: Uint32Array;
  readonly shift: number;
  readonly into: TextColumn;
  /** Row of `into` that the first of `rows` becomes. */
  readonly row: number;
}

/** The texts of a group of rows as UTF-8 bytes in one buffer that is used again. */
export class TextHeap {
  bytes = Buffer.allocUnsafeSlow(MIN_BYTES);
  length = 0;

  /** Puts texts behind each other, as the rows of a column from `row` on; `undefined` is null. */
  addTexts(texts: readonly (string | undefined)[], into: TextColumn, row: number): void {
    into.clear(row, row + texts.length);
    for (const [index, text] of texts.entries()) {
      if (text === undefined) continue;
      into.starts[row + index] = this.length;
      into.ends[row + index] = this.#write(text);
    }
  }

  /** Takes bytes that cells of columns lie in; returns where they lie now. */
  addBlock(block: Uint8Array): number {
    this.#ensure(block.length);
    const at = this.length;
    this.bytes.set(block, at);
    this.length += block.length;
    return at;
  }

  /**
   * Adds cells of a column of texts and nulls whose bytes are here already, moved by `shift`. Without
   * a column all are null. False as soon as a cell is neither text nor null.
   */
  addCells(column: Column | undefined, place: CellPlace): boolean {
    const { rows, shift, into, row: first } = place;
    into.clear(first, first + rows.length);
    if (column === undefined) return true;
    const { starts, ends, kinds } = column;
    const { starts: newStarts, ends: newEnds } = into;
    for (let index = 0, to = first; index < rows.length; index += 1, to += 1) {
      const row = rows[index] as number;
      const kind = kinds[row] as number;
      const start = (starts[row] as number) + shift;
      const end = (ends[row] as number) + shift;
      if (kind === TEXT) {
        newStarts[to] = start;
        newEnds[to] = end;
      } else if (kind === ESCAPED) {
        newStarts[to] = this.length;
        newEnds[to] = this.#unescape(start, end);
      } else if (kind > NULL) return false;
    }
    return true;
  }

  /** Puts the text that is spelled there behind all others; returns where it ends. */
  #unescape(start: number, end: number): number {
    this.#ensure(end - start);
    const { bytes } = this;
    let to = this.length;
    for (let at = start; at < end; at += 1, to += 1) {
      const byte = bytes[at] as number;
      if (byte !== BACKSLASH) {
        bytes[to] = byte;
        continue;
      }
      at += 1;
      const letter = bytes[at] as number;
      if (letter === LOWER_U)
        return this.#write(JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string);
      bytes[to] = UNESCAPED[letter] as number;
    }
    this.length = to;
    return to;
  }

  #write(text: string): number {
    // A UTF-16 code unit takes three bytes of UTF-8 at most.
    this.#ensure(text.length * 3);
    this.length += this.bytes.write(text, this.length, 'utf8');
    return this.length;
  }

  #ensure(size: number): void {
    const wanted = this.length + size;
    if (wanted <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}
