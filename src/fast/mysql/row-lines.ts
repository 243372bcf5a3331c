/**
 * Rows of the text protocol of MySQL as JSON Lines, written from the packets of the server without a
 * string or an object per value. A line is that of the same row as a record; values that need more
 * care (exponents, JSON in another spelling, numbers with zeros in front) go through the decoder of
 * their type.
 */
import { stringifyField, type JsonValue } from '../../lib/text/json.ts';
import type { FieldForm } from '../copy-text/copy-text-writer.ts';
import { isPlainDecimal } from '../copy-text/plain-decimal.ts';
import {
  CONTROLS,
  FALSE,
  isSpecial,
  leadOf,
  mostBytes,
  NULL,
  put,
  putPair,
  putWords,
  SPECIAL,
  TRUE,
  WORD,
  wordsOf,
  type Lead,
} from '../json/line-bytes.ts';
import { PlainJson } from '../json/plain-json.ts';
import {
  bitsOf,
  NULL_VALUE,
  sizeAt,
  sizeBytes,
  truthOf,
  TWO_BYTES,
  unreadableRow,
} from './packet-values.ts';

const TAB = 9;
const NEWLINE = 10;
const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_LIST = 91;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const UPPER_T = 84;
const UPPER_Z = 90;
/** The brace, the newline, and words that are written beyond the end of a line. */
const LINE_ROOM = 8;
/** `null`, or the digits of 64 bits, with quotes. */
const VALUE_ROOM = 24;

export interface LineField {
  readonly name: string;
  /** What the bytes of the value are. */
  readonly value: 'text' | 'bytes' | 'instant' | 'truth' | 'bit' | 'bits';
  /** How a text becomes JSON. */
  readonly form: FieldForm;
  readonly decode: (text: string) => JsonValue;
}

interface ColumnWriter extends Lead {
  readonly name: string;
  readonly value: Exclude<LineField['value'], 'text'> | FieldForm;
  readonly decode: LineField['decode'];
}

export class RowLines {
  readonly #columns: readonly ColumnWriter[];
  readonly #room: number;
  readonly #plain = new PlainJson();
  #out: Buffer;
  #outWords: DataView;
  #length = 0;
  #row: Buffer = Buffer.alloc(0);
  #rowWords: DataView = wordsOf(this.#row);
  /** Bytes that the row takes in the plain implementation, which ends its pages by them. */
  #size = 0;

  constructor(fields: readonly LineField[], capacity: number) {
    this.#columns = fields.map(({ name, value, form, decode }, index) => ({
      ...leadOf(name, index),
      name,
      value: value === 'text' ? form : value,
      decode,
    }));
    this.#room = this.#columns.reduce(
      (sum, { leadBytes }) => sum + leadBytes + VALUE_ROOM + WORD,
      LINE_ROOM,
    );
    this.#out = Buffer.allocUnsafeSlow(capacity);
    this.#outWords = wordsOf(this.#out);
  }

  get length(): number {
    return this.#length;
  }

  /** What was collected; the writer goes on in `next`. */
  take(next: Buffer): Buffer {
    const block = this.#out.subarray(0, this.#length);
    this.#goOnIn(next);
    this.#length = 0;
    return block;
  }

  /** Adds the row of a packet; gives its size as text of COPY. Nothing is added where it throws. */
  row(packet: Buffer, from: number, to: number): number {
    const start = this.#length;
    try {
      this.#values(packet, from, to);
    } catch (error) {
      this.#length = start;
      throw error;
    }
    return this.#size;
  }

  #values(row: Buffer, from: number, to: number): void {
    if (row !== this.#row) {
      this.#row = row;
      this.#rowWords = wordsOf(row);
    }
    this.#reserve(mostBytes(row, from, to));
    const columns = this.#columns;
    // A tab or a newline behind each value.
    this.#size = columns.length;
    let at = from;
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index] as ColumnWriter;
      this.#length = putWords(this.#outWords, this.#length, column);
      const mark = row[at] as number;
      at += 1;
      if (mark === NULL_VALUE) {
        this.#length = put(this.#out, this.#length, NULL);
        this.#size += 2;
        continue;
      }
      let size = mark;
      if (mark >= TWO_BYTES) {
        size = sizeAt(row, at, mark);
        at += sizeBytes(mark);
      }
      if (at + size > to) throw unreadableRow();
      this.#value(column, at, at + size, to);
      at += size;
    }
    this.#out[this.#length++] = CLOSE_OBJECT;
    this.#out[this.#length++] = NEWLINE;
  }

  // oxlint-disable-next-line max-params
  #value(column: ColumnWriter, from: number, to: number, rowEnd: number): void {
    const row = this.#row;
    switch (column.value) {
      case 'text':
        this.#size += to - from;
        return this.#text(from, to);
      case 'bare':
        this.#size += to - from;
        return this.#copy(from, to);
      case 'instant':
        this.#size += to - from + 1;
        return this.#instant(from, to);
      case 'truth':
        return this.#truth(truthOf(column.name, row, from, to));
      case 'bit':
        return this.#truth(row[to - 1] === 1);
      case 'bits':
        return this.#ascii(bitsOf(row, from, to));
      case 'bytes':
        this.#out[this.#length++] = QUOTE;
        this.#ascii(row.toString('base64', from, to));
        this.#out[this.#length++] = QUOTE;
        return;
      default:
        this.#size += to - from + pairsIn(row, from, to);
        if (this.#passes(column.value, from, to)) return this.#copy(from, to);
        return this.#decoded(column, row.toString('utf8', from, to), mostBytes(row, to, rowEnd));
    }
  }

  /** Whether the text is the JSON of its value. A null of JSON is not the null of the column. */
  #passes(form: FieldForm, from: number, to: number): boolean {
    const row = this.#row;
    if (form === 'float') return isPlainDecimal(row, from, to);
    const first = row[from];
    return (
      form === 'json' &&
      (first === OPEN_OBJECT || first === OPEN_LIST) &&
      this.#plain.holds(row, from, to)
    );
  }

  #text(from: number, to: number): void {
    const [out, outWords, row, rowWords] = [this.#out, this.#outWords, this.#row, this.#rowWords];
    const lastWord = to - WORD;
    let length = this.#length;
    let at = from;
    out[length++] = QUOTE;
    for (;;) {
      for (; at <= lastWord; at += WORD, length += WORD) {
        const word = rowWords.getInt32(at, true);
        if (isSpecial(word)) break;
        outWords.setInt32(length, word, true);
      }
      while (at < to && SPECIAL[row[at] as number] === 0) out[length++] = row[at++] as number;
      if (at >= to) break;
      const byte = row[at++] as number;
      if (byte === TAB || byte === NEWLINE || byte === BACKSLASH) this.#size += 1;
      length =
        byte === QUOTE || byte === BACKSLASH
          ? putPair(out, length, byte)
          : put(out, length, CONTROLS[byte] as Uint8Array);
    }
    out[length++] = QUOTE;
    this.#length = length;
  }

  #copy(from: number, to: number): void {
    const [out, outWords, row, rowWords] = [this.#out, this.#outWords, this.#row, this.#rowWords];
    let length = this.#length;
    let at = from;
    for (; at <= to - WORD; at += WORD, length += WORD)
      outWords.setInt32(length, rowWords.getInt32(at, true), true);
    while (at < to) out[length++] = row[at++] as number;
    this.#length = length;
  }

  /** `2024-05-06 07:08:09` as `2024-05-06T07:08:09Z`. */
  #instant(from: number, to: number): void {
    const [out, row] = [this.#out, this.#row];
    let length = this.#length;
    out[length++] = QUOTE;
    for (let at = from; at < to; at += 1) {
      const byte = row[at] as number;
      out[length++] = byte === SPACE ? UPPER_T : byte;
    }
    out[length++] = UPPER_Z;
    out[length++] = QUOTE;
    this.#length = length;
  }

  #truth(value: boolean): void {
    this.#size += 1;
    this.#length = put(this.#out, this.#length, value ? TRUE : FALSE);
  }

  #ascii(text: string): void {
    this.#size += text.length;
    this.#length += this.#out.write(text, this.#length, 'latin1');
  }

  /** `rest`: what the values behind it may take. */
  #decoded({ decode }: ColumnWriter, text: string, rest: number): void {
    const json = stringifyField(decode(text));
    this.#reserve(Buffer.byteLength(json) + rest);
    this.#length += this.#out.write(json, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + this.#room + bytes;
    if (needed <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#out.length * 2));
    this.#out.copy(larger, 0, 0, this.#length);
    this.#goOnIn(larger);
  }

  #goOnIn(out: Buffer): void {
    this.#out = out;
    this.#outWords = wordsOf(out);
  }
}

/** How many bytes text of COPY writes as a pair. */
function pairsIn(row: Buffer, from: number, to: number): number {
  let pairs = 0;
  for (let at = from; at < to; at += 1) {
    const byte = row[at] as number;
    if (byte === BACKSLASH || byte === NEWLINE || byte === TAB) pairs += 1;
  }
  return pairs;
}
