/**
 * Writes columns as rows in the text format of COPY, which LOAD DATA reads too, with the same result
 * as their records. Letters are escaped only where both read the escape alike.
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
import { isMoment, type MomentForm } from '../../kit/cell-texts.ts';
import { PlainJson } from '../json/plain-json.ts';

const TAB = 9;
const NEWLINE = 10;
const FORM_FEED = 12;
const SPACE = 32;
const QUOTE = 34;
const SLASH = 47;
const ZERO = 48;
const NULL_MARK = 78;
const LETTER_Z = 90;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const LETTER_F = 102;
const LETTER_U = 117;
const OPEN_OBJECT = 123;
/** Escapes and quotes at most double a cell; a literal takes a few bytes. */
const CELL_ROOM = 12;

/**
 * What a column of the table accepts: text; JSON in which texts may be JSON documents; JSON in which
 * texts are strings; lists; numbers, where truth values are 1 and 0; times with a space before the
 * clock, in UTC; or only what `encode` returns.
 */
export type CellStyle = 'plain' | 'json' | 'document' | 'list' | 'number' | 'clock' | 'encoded';

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
  for (let index = 0; index < rows.length; index += 1) out.row(writers, rows[index] as number);
  if (out.bytes.length <= KEPT_BYTES) buffer.bytes = out.bytes;
  return out.bytes.subarray(0, out.length);
}

/** The same in pieces of whole rows, each made when it is asked for. */
export function* copyCellPieces(
  { rows, cells }: Columns,
  writers: readonly CellColumn[],
  pieceSize: number,
): Generator<Buffer, void> {
  const out = new CopyText(cells.bytes, Buffer.allocUnsafeSlow(pieceSize));
  for (let index = 0; index < rows.length; index += 1) {
    out.row(writers, rows[index] as number);
    if (out.length >= pieceSize) yield out.take();
  }
  if (out.length > 0) yield out.take();
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const DAY_SIZE = 10;
const SHORTEST_CLOCK = 19;
const INSTANT: MomentForm = { isInstant: true, digits: 9 };
const WALL_CLOCK: MomentForm = { isInstant: false, digits: 9 };

/** The bytes of a page while they are written. */
class CopyText {
  bytes: Buffer;
  length = 0;
  readonly #cells: Buffer;
  #reserved = 0;
  readonly #plain = new PlainJson();
  /** A text without its escapes. */
  #scratch = Buffer.alloc(0);

  constructor(cells: Buffer, bytes: Buffer) {
    this.#cells = cells;
    this.bytes = bytes;
  }

  row(writers: readonly CellColumn[], row: number): void {
    this.#room(writers, row);
    for (let column = 0; column < writers.length; column += 1) {
      if (column > 0) this.#byte(TAB);
      this.#cell(writers[column] as CellColumn, row);
    }
    this.#byte(NEWLINE);
  }

  /** What was written; the rest goes into other memory. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.allocUnsafeSlow(this.bytes.length);
    this.length = 0;
    return taken;
  }

  #room(writers: readonly CellColumn[], row: number): void {
    let size = CELL_ROOM;
    for (let column = 0; column < writers.length; column += 1) {
      const { starts, ends } = (writers[column] as CellColumn).from;
      size += ((ends[row] as number) - (starts[row] as number)) * 2 + CELL_ROOM;
    }
    this.#reserved = size;
    this.#ensure(size);
  }

  #byte(value: number): void {
    this.bytes[this.length++] = value;
  }

  #cell(writer: CellColumn, row: number): void {
    const { starts, ends, kinds } = writer.from;
    const [start, end, kind] = [starts[row] as number, ends[row] as number, kinds[row] as number];
    const { style } = writer;
    if (kind <= NULL) this.#pair(BACKSLASH, NULL_MARK);
    else if (style === 'encoded') this.#encoded(writer, kind, { start, end });
    else if (kind === TRUE || kind === FALSE) {
      if (style === 'number') this.#byte(kind === TRUE ? ZERO + 1 : ZERO);
      else this.#text(kind === TRUE ? 'true' : 'false');
    } else if (kind === NUMBER) this.#copy(start, end);
    else if (!this.#written(style, kind, { start, end }))
      this.#encoded(writer, kind, { start, end });
  }

  /** A text, a list or an object; false, and nothing written, where it is not taken as it stands. */
  #written(style: CellStyle, kind: number, { start, end }: Range): boolean {
    if (kind === NESTED) return style !== 'list' && this.#doubled(this.#cells, start, end);
    switch (style) {
      case 'document':
        return this.#quoted(start, end);
      case 'json':
        return this.#isPlainStart(start, end)
          ? this.#quoted(start, end)
          : kind === ESCAPED && this.#spelledJson(start, end);
      case 'number':
        return false;
      case 'clock':
        return kind === TEXT && this.#clock(start, end);
      default:
        return kind === ESCAPED ? this.#unescaped(start, end) : this.#copied(start, end);
    }
  }

  #copied(start: number, end: number): boolean {
    this.#copy(start, end);
    return true;
  }

  #quoted(start: number, end: number): boolean {
    this.#byte(QUOTE);
    this.#doubled(this.#cells, start, end);
    this.#byte(QUOTE);
    return true;
  }

  #pair(first: number, second: number): void {
    this.bytes[this.length++] = first;
    this.bytes[this.length++] = second;
  }

  #copy(start: number, end: number): void {
    const [bytes, cells] = [this.bytes, this.#cells];
    let length = this.length;
    for (let at = start; at < end; at += 1) bytes[length++] = cells[at] as number;
    this.length = length;
  }

  /** A backslash is read as the start of an escape. */
  #doubled(from: Uint8Array, start: number, end: number): boolean {
    const { bytes } = this;
    let length = this.length;
    for (let at = start; at < end; at += 1) {
      const byte = from[at] as number;
      bytes[length++] = byte;
      if (byte === BACKSLASH) bytes[length++] = BACKSLASH;
    }
    this.length = length;
    return true;
  }

  /** Most escapes are the same as in JSON; false, and nothing written, for one by code point. */
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
      if (letter === LETTER_U) return false;
      if (letter === LETTER_F) {
        bytes[length++] = FORM_FEED;
        continue;
      }
      if (letter !== QUOTE && letter !== SLASH) bytes[length++] = BACKSLASH;
      bytes[length++] = letter;
    }
    this.length = length;
    return true;
  }

  /** A text that is an object or a list is written as such. */
  #spelledJson(start: number, end: number): boolean {
    const cells = this.#cells;
    const first = cells[start];
    if (first !== OPEN_OBJECT && first !== OPEN_LIST) return false;
    if (this.#scratch.length < end - start) this.#scratch = Buffer.allocUnsafe((end - start) * 2);
    const scratch = this.#scratch;
    let length = 0;
    for (let at = start; at < end; at += 1) {
      let byte = cells[at] as number;
      if (byte === BACKSLASH) {
        byte = cells[++at] as number;
        if (byte !== QUOTE && byte !== BACKSLASH && byte !== SLASH) return false;
      }
      scratch[length++] = byte;
    }
    return this.#plain.holds(scratch, 0, length) && this.#doubled(scratch, 0, length);
  }

  /** `2024-05-06T07:08:09.5Z` as `2024-05-06 07:08:09.5`; nothing shorter has a day and a clock. */
  #clock(start: number, end: number): boolean {
    if (end - start < SHORTEST_CLOCK) return this.#copied(start, end);
    const cells = this.#cells;
    const form = cells[end - 1] === LETTER_Z ? INSTANT : WALL_CLOCK;
    if (!isMoment(cells, start, end, form)) return false;
    const at = this.length + DAY_SIZE;
    this.#copy(start, form.isInstant ? end - 1 : end);
    this.bytes[at] = SPACE;
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

  #encoded({ encode }: CellColumn, kind: number, { start, end }: Range): void {
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
