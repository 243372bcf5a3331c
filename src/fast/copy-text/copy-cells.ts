/**
 * Writes columns as rows in the text format of COPY, with the same result as their records.
 */
import { parseJson, type JsonValue } from '../../lib/text/json.ts';
import {
  ESCAPED,
  FALSE,
  NESTED,
  NULL,
  NUMBER,
  TEXT,
  TRUE,
  type Column,
  type Columns,
} from '../../kit/columns.ts';

const TAB = 9;
const NEWLINE = 10;
const QUOTE = 34;
const BACKSLASH = 92;
/** Escapes and quotes at most double a cell; a literal takes a few bytes. */
const CELL_ROOM = 12;

/**
 * What a column of the table accepts: text; JSON in which texts may be JSON documents; JSON in which
 * texts are strings; lists; or only what `encode` returns.
 */
export type CellStyle = 'plain' | 'json' | 'document' | 'list' | 'encoded';

/** A column of cells that goes into a column of a table. */
export interface CellColumn {
  readonly from: Column;
  readonly style: CellStyle;
  /** A value in the text form of COPY: for cells that cannot be written as they stand. */
  readonly encode: (value: JsonValue) => string;
}

/** Memory that is used again for every page; what was written into it is valid until then. */
export interface PageBuffer {
  bytes: Buffer;
}

export function newPageBuffer(): PageBuffer {
  return { bytes: Buffer.alloc(0) };
}

/** Larger ones are rare; keeping them would hold memory for nothing. */
const KEPT_BYTES = 16 * 1024 * 1024;

export function copyCells(
  { rows, cells }: Columns,
  writers: readonly CellColumn[],
  buffer: PageBuffer,
): Uint8Array {
  const out = new CopyText(cells.bytes, buffer.bytes);
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] as number;
    out.room(writers, row);
    for (let column = 0; column < writers.length; column += 1) {
      if (column > 0) out.byte(TAB);
      out.cell(writers[column] as CellColumn, row);
    }
    out.byte(NEWLINE);
  }
  if (out.bytes.length <= KEPT_BYTES) buffer.bytes = out.bytes;
  return out.bytes.subarray(0, out.length);
}

/** The bytes of a page while they are written. */
class CopyText {
  bytes: Buffer;
  length = 0;
  readonly #cells: Buffer;
  #reserved = 0;

  constructor(cells: Buffer, bytes: Buffer) {
    this.#cells = cells;
    this.bytes = bytes;
  }

  room(writers: readonly CellColumn[], row: number): void {
    let size = CELL_ROOM;
    for (let column = 0; column < writers.length; column += 1) {
      const { starts, ends } = (writers[column] as CellColumn).from;
      size += ((ends[row] as number) - (starts[row] as number)) * 2 + CELL_ROOM;
    }
    this.#reserved = size;
    this.#ensure(size);
  }

  byte(value: number): void {
    this.bytes[this.length++] = value;
  }

  cell(writer: CellColumn, row: number): void {
    const { starts, ends, kinds } = writer.from;
    const [start, end, kind] = [starts[row] as number, ends[row] as number, kinds[row] as number];
    const { style } = writer;
    const isJson = style === 'json' || style === 'document';
    if (kind <= NULL) this.#text('\\N');
    else if (style === 'encoded') this.#encoded(writer, kind, { start, end });
    else if (kind === TRUE || kind === FALSE) this.#text(kind === TRUE ? 'true' : 'false');
    else if (kind === NUMBER || (kind === TEXT && !isJson)) this.#copy(start, end);
    else if (kind === NESTED && style !== 'list') this.#doubled(start, end);
    else if (kind === ESCAPED && !isJson && this.#unescaped(start, end)) return;
    else if (kind >= TEXT && isJson && (style === 'document' || this.#isPlainStart(start, end))) {
      this.byte(QUOTE);
      this.#doubled(start, end);
      this.byte(QUOTE);
    } else this.#encoded(writer, kind, { start, end });
  }

  #copy(start: number, end: number): void {
    const [bytes, cells] = [this.bytes, this.#cells];
    let length = this.length;
    for (let at = start; at < end; at += 1) bytes[length++] = cells[at] as number;
    this.length = length;
  }

  /** COPY reads a backslash as the start of an escape. */
  #doubled(start: number, end: number): void {
    const [bytes, cells] = [this.bytes, this.#cells];
    let length = this.length;
    for (let at = start; at < end; at += 1) {
      const byte = cells[at] as number;
      bytes[length++] = byte;
      if (byte === BACKSLASH) bytes[length++] = BACKSLASH;
    }
    this.length = length;
  }

  /**
   * Most escapes are the same in JSON and COPY; false, and nothing written, for an escape by code
   * point.
   */
  #unescaped(start: number, end: number): boolean {
    const [bytes, cells] = [this.bytes, this.#cells];
    let length = this.length;
    for (let at = start; at < end; at += 1) {
      const byte = cells[at] as number;
      if (byte !== BACKSLASH) {
        bytes[length++] = byte;
        continue;
      }
      const letter = cells[++at] as number;
      if (letter === 117) return false;
      if (letter !== QUOTE && letter !== 47) bytes[length++] = BACKSLASH;
      bytes[length++] = letter;
    }
    this.length = length;
    return true;
  }

  /**
   * Whether a text for a JSON column cannot be an object or a list, which would be stored as such.
   */
  #isPlainStart(start: number, end: number): boolean {
    const first = this.#cells[start] as number;
    return (
      start === end ||
      (first > 32 && first < 127 && first !== 91 && first !== 123 && first !== BACKSLASH)
    );
  }

  #encoded(
    { encode }: CellColumn,
    kind: number,
    { start, end }: { start: number; end: number },
  ): void {
    const text = this.#cells.toString('utf8', start, end);
    const written = encode(parseJson(kind >= TEXT ? `"${text}"` : text));
    // The rest of the row keeps the space that was reserved for it.
    this.#ensure(Buffer.byteLength(written) + this.#reserved);
    this.#text(written);
  }

  #text(text: string): void {
    this.length += this.bytes.write(text, this.length);
  }

  #ensure(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.length + size, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
