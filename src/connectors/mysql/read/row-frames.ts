/**
 * Rows of a result as text in the form of COPY, each in a frame (`_sql/copy-text`), collected without
 * an object per row.
 */
import {
  bitsOf,
  NULL_VALUE,
  sizeAt,
  sizeBytes,
  truthOf,
  TWO_BYTES,
} from '../../../fast/mysql/packet-values.ts';
import { FRAME_HEAD } from '../../_sql/copy-text/frames.ts';
import type { MysqlColumn } from '../../_mysql/result-types.ts';

const TAB = 9;
const NEWLINE = 10;
const SPACE = 32;
const BACKSLASH = 92;
const LETTER_N = 78;
const LOWER_N = 110;
const LOWER_T = 116;
const LOWER_F = 102;
const UPPER_T = 84;
const UPPER_Z = 90;
/** The row kind of COPY. */
const ROW = 100;

const FIRST_BYTES = 512 * 1024;
/** A buffer that grew beyond this is not kept. */
const KEPT_BYTES = 4 * FIRST_BYTES;

/** 1: a byte that text of COPY writes as a pair. */
const PAIRED = new Uint8Array(256);
PAIRED[TAB] = 1;
PAIRED[NEWLINE] = 1;
PAIRED[BACKSLASH] = 1;

export class RowFrames {
  readonly #columns: readonly MysqlColumn[];
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #spare = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;

  constructor(columns: readonly MysqlColumn[]) {
    this.#columns = columns;
  }

  get length(): number {
    return this.#length;
  }

  /** What was collected; valid until the next call. */
  take(): Buffer {
    const [full, length] = [this.#bytes, this.#length];
    this.#bytes = this.#spare;
    this.#spare = full.length > KEPT_BYTES ? Buffer.allocUnsafeSlow(FIRST_BYTES) : full;
    this.#length = 0;
    return full.subarray(0, length);
  }

  /** Adds a row of the text protocol. */
  addPacket(row: Buffer, from: number, to: number): void {
    const columns = this.#columns;
    const start = this.#begin(to - from);
    let at = from;
    for (let index = 0; index < columns.length; index += 1) {
      if (index > 0) this.#bytes[this.#length++] = TAB;
      const mark = row[at] as number;
      if (mark === NULL_VALUE) {
        this.#null();
        at += 1;
        continue;
      }
      let size = mark;
      at += 1;
      if (mark >= TWO_BYTES) {
        size = sizeAt(row, at, mark);
        at += sizeBytes(mark);
      }
      this.#value(columns[index] as MysqlColumn, row, { from: at, to: at + size });
      at += size;
    }
    this.#end(start);
  }

  /** Adds a row whose values are texts in the form of the text protocol, or bytes. */
  addValues(values: readonly (string | Buffer | null)[]): void {
    const bytes = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value));
    const start = this.#begin(bytes.reduce((sum, value) => sum + (value?.length ?? 0), 0));
    for (const [index, value] of bytes.entries()) {
      if (index > 0) this.#bytes[this.#length++] = TAB;
      const column = this.#columns[index];
      if (value === null || column === undefined) this.#null();
      else this.#value(column, value, { from: 0, to: value.length });
    }
    this.#end(start);
  }

  /** Makes room for a row: each byte takes at most two, and each value a few more. */
  #begin(size: number): number {
    const needed = this.#length + FRAME_HEAD + size * 2 + this.#columns.length * VALUE_BYTES + 1;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    const start = this.#length;
    this.#length += FRAME_HEAD;
    return start;
  }

  #end(start: number): void {
    this.#bytes[this.#length++] = NEWLINE;
    this.#bytes[start] = ROW;
    this.#bytes.writeInt32BE(this.#length - start - 1, start + 1);
  }

  #null(): void {
    this.#bytes[this.#length++] = BACKSLASH;
    this.#bytes[this.#length++] = LETTER_N;
  }

  #value(column: MysqlColumn, row: Buffer, { from, to }: Range): void {
    switch (column.value) {
      case 'text':
        return this.#text(row, from, to);
      case 'instant':
        return this.#instant(row, from, to);
      case 'bytes':
        this.#length += this.#bytes.write(row.toString('base64', from, to), this.#length, 'latin1');
        return;
      case 'truth':
        this.#bytes[this.#length++] = truthOf(column.name, row, from, to) ? LOWER_T : LOWER_F;
        return;
      case 'bit':
        this.#bytes[this.#length++] = row[to - 1] === 1 ? LOWER_T : LOWER_F;
        return;
      case 'bits':
        this.#length += this.#bytes.write(bitsOf(row, from, to), this.#length, 'latin1');
        return;
      default:
        column.value satisfies never;
    }
  }

  #text(row: Buffer, from: number, to: number): void {
    const out = this.#bytes;
    let length = this.#length;
    for (let at = from; at < to; at += 1) {
      const byte = row[at] as number;
      if (PAIRED[byte] === 0) out[length++] = byte;
      else {
        out[length++] = BACKSLASH;
        out[length++] = byte === TAB ? LOWER_T : byte === NEWLINE ? LOWER_N : BACKSLASH;
      }
    }
    this.#length = length;
  }

  /** `2024-05-06 07:08:09` as `2024-05-06T07:08:09Z`. */
  #instant(row: Buffer, from: number, to: number): void {
    const out = this.#bytes;
    let length = this.#length;
    for (let at = from; at < to; at += 1) {
      const byte = row[at] as number;
      out[length++] = byte === SPACE ? UPPER_T : byte;
    }
    out[length++] = UPPER_Z;
    this.#length = length;
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** The mark of NULL, a tab, a letter, or the digits of 64 bits. */
const VALUE_BYTES = 24;
