/** The inner loop of CSV → JSON Lines: one pass that finds the cells and writes them, without an object or a call per cell. */
import type { ByteWriter } from '../../kit/byte-writer.ts';
import { ESCAPED, MISSING, NULL as NULL_CELL, TEXT } from '../../kit/columns.ts';
import { JSON_ESCAPE } from './csv-cells.ts';
import type { CellMarks } from './csv-cell-marks.ts';
import type { CsvDialect, CsvScanner, Stretch } from './csv-rows.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** What a row needs besides its labels and cells: braces, the last quote, the line end; and a word that a label may run over. */
const ROW_ROOM = 16;
/** Times a byte: that byte four times in a word. */
const EACH_BYTE = 0x01010101;
const HIGH_BITS = 0x80808080;

/** Why the kernel stands still. */
export type KernelStop =
  /** Every whole row was written. */
  | 'input'
  /** As many rows were written as were asked for. */
  | 'rows'
  /** The next row would make the page larger than it may be. */
  | 'page'
  /** The next row does not fit the buffer. */
  | 'room'
  /** The next row has another number of cells than there are labels. */
  | 'width';

export interface KernelTarget {
  readonly out: ByteWriter;
  /** For columns: where each cell stands in what was written. */
  readonly marks?: CellMarks;
}

export interface KernelOptions {
  readonly dialect: CsvDialect;
  readonly flexible: boolean;
  readonly nullValues: readonly string[];
  readonly pageBytes: number;
}

const NO_MARKS: Pick<CellMarks, 'starts' | 'ends' | 'kinds' | 'capacity'> = {
  starts: new Uint32Array(),
  ends: new Uint32Array(),
  kinds: new Uint8Array(),
  capacity: 0,
};

/** Writes rows as lines of JSON. A row that cannot be written leaves no trace: the kernel stands before it and says why. */
export class CsvLineKernel {
  /** Rows written by the last call. */
  rows = 0;
  readonly #options: KernelOptions;
  readonly #nulls: readonly Uint8Array[];
  /** Whether a byte ends a run that can be copied as it is, outside quotes and inside. */
  readonly #plainStops: Uint8Array;
  readonly #quotedStops: Uint8Array;
  #labels: Labels = labelsOf([]);

  constructor(options: KernelOptions) {
    const { delimiter, quote } = options.dialect;
    this.#options = options;
    this.#nulls = options.nullValues.map((text) => Buffer.from(JSON.stringify(text).slice(1, -1)));
    this.#plainStops = stops([delimiter, LINE_FEED, CARRIAGE_RETURN]);
    this.#quotedStops = stops([quote]);
  }

  setColumns(names: readonly string[]): void {
    this.#labels = labelsOf(names);
  }

  /**
   * Writes rows of `stretch` up to `end`, where a row ends; moves `stretch.at` and the line of `scanner` on. With `marks`, which have
   * room for `most` rows, it also notes where each cell stands.
   */
  convert(stretch: Stretch, end: number, most: number, scanner: CsvScanner, { out, marks }: KernelTarget): KernelStop {
    const { delimiter, quote } = this.#options.dialect;
    const { flexible, pageBytes } = this.#options;
    const { words, wordEnds, lengths } = this.#labels;
    const width = lengths.length;
    const plainStops = this.#plainStops;
    const quotedStops = this.#quotedStops;
    const nulls = this.#nulls;
    const { starts, ends, kinds, capacity: markStep } = marks ?? NO_MARKS;
    const markedWidth = marks === undefined ? 0 : width;
    const bytes: Uint8Array = stretch.bytes;
    const target: Uint8Array = out.bytes;
    const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
    const capacity = target.length;
    const source = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const lastWord = bytes.length - 4;
    const lastRoom = capacity - 4;
    const delimiters = delimiter * EACH_BYTE;
    const quotes = quote * EACH_BYTE;
    let stop: KernelStop = 'rows';
    let { line, afterReturn } = scanner;
    let at = stretch.at;
    let to = out.length;
    let rows = 0;

    rows: while (rows < most) {
      let byte = at < end ? (bytes[at] as number) : LINE_FEED;
      while (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        if (at >= end) {
          stop = 'input';
          break rows;
        }
        if (byte === CARRIAGE_RETURN || !afterReturn) line += 1;
        afterReturn = byte === CARRIAGE_RETURN;
        at += 1;
        byte = at < end ? (bytes[at] as number) : LINE_FEED;
      }
      const rowStart = at;
      const rowMark = to;
      const rowLine = line;
      let cell = 0;
      let place = marks === undefined ? 0 : marks.count + rows;
      let word = 0;
      target[to] = OPEN;
      to += 1;
      for (;;) {
        if (cell === width || to + ROW_ROOM + (lengths[cell] as number) > capacity) {
          stop = cell === width ? 'width' : 'room';
          at = rowStart;
          to = rowMark;
          line = rowLine;
          break rows;
        }
        const wordEnd = wordEnds[cell] as number;
        for (let ahead = to; word < wordEnd; word += 1, ahead += 4) view.setInt32(ahead, words[word] as number, true);
        to += lengths[cell] as number;
        const mark = to;
        let kind = TEXT;
        byte = bytes[at] as number;
        if (byte === quote) {
          at += 1;
          while (at <= lastWord && to <= lastRoom) {
            const four = source.getInt32(at, true);
            if (stopsCopying(four, quotes)) break;
            view.setInt32(to, four, true);
            at += 4;
            to += 4;
          }
          for (;;) {
            byte = bytes[at] as number;
            if (quotedStops[byte] === 0 && to < capacity) {
              target[to] = byte;
              to += 1;
              at += 1;
              continue;
            }
            if (at >= end || to >= capacity) {
              stop = at >= end ? 'input' : 'room';
              at = rowStart;
              to = rowMark;
              line = rowLine;
              break rows;
            }
            if (byte === quote) {
              at += 1;
              byte = bytes[at] as number;
              if (byte !== quote) break;
            } else if (byte === LINE_FEED) line += 1;
            kind = ESCAPED;
            to = writeByte(target, to, byte);
            at += 1;
          }
        }
        while (at <= lastWord && to <= lastRoom) {
          const four = source.getInt32(at, true);
          if (stopsCopying(four, delimiters)) break;
          view.setInt32(to, four, true);
          at += 4;
          to += 4;
        }
        for (;;) {
          byte = bytes[at] as number;
          if (plainStops[byte] === 0 && to < capacity) {
            target[to] = byte;
            to += 1;
            at += 1;
            continue;
          }
          if (to >= capacity) {
            stop = 'room';
            at = rowStart;
            to = rowMark;
            line = rowLine;
            break rows;
          }
          if (byte === delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN) break;
          kind = ESCAPED;
          to = writeByte(target, to, byte);
          at += 1;
        }
        at += 1;
        cell += 1;
        if (nulls.length > 0 && isOneOf(target, mark, to, nulls)) {
          to = writeNull(target, mark - 1);
          if (marks !== undefined) {
            starts[place] = mark - 1;
            ends[place] = to;
            kinds[place] = NULL_CELL;
          }
        } else {
          if (marks !== undefined) {
            starts[place] = mark;
            ends[place] = to;
            kinds[place] = kind;
          }
          target[to] = QUOTE;
          to += 1;
        }
        place += markStep;
        if (byte !== delimiter) break;
      }
      for (let absent = cell; absent < markedWidth; absent += 1, place += markStep) kinds[place] = MISSING;
      target[to] = CLOSE;
      target[to + 1] = LINE_FEED;
      to += 2;
      if (to > capacity || (cell !== width && !flexible) || (to > pageBytes && rowMark > 0)) {
        stop = to > capacity ? 'room' : cell !== width && !flexible ? 'width' : 'page';
        at = rowStart;
        to = rowMark;
        line = rowLine;
        break;
      }
      line += 1;
      afterReturn = byte === CARRIAGE_RETURN;
      rows += 1;
    }
    stretch.at = at;
    scanner.line = line;
    scanner.afterReturn = afterReturn;
    out.length = to;
    this.rows = rows;
    return stop;
  }
}

/**
 * Whether one of four bytes is a control character, a quote, a backslash or the marked byte. It never misses one; the loop over
 * single bytes that follows finds out which.
 */
function stopsCopying(four: number, marks: number): boolean {
  const quotes = four ^ (QUOTE * EACH_BYTE);
  const backslashes = four ^ (BACKSLASH * EACH_BYTE);
  const marked = four ^ marks;
  const controls = (four - 0x20 * EACH_BYTE) & ~four;
  const others = ((quotes - EACH_BYTE) & ~quotes) | ((backslashes - EACH_BYTE) & ~backslashes) | ((marked - EACH_BYTE) & ~marked);
  return ((controls | others) & HIGH_BITS) !== 0;
}

/** Writes a byte that may have to be escaped; past the end of the buffer nothing is written, which the caller sees by the length. */
function writeByte(target: Uint8Array, to: number, byte: number): number {
  if (byte === QUOTE || byte === BACKSLASH) {
    target[to] = BACKSLASH;
    target[to + 1] = byte;
    return to + 2;
  }
  const escape = JSON_ESCAPE[byte] as Uint8Array;
  for (let index = 0; index < escape.length; index += 1) target[to + index] = escape[index] as number;
  return to + escape.length;
}

const NULL = Buffer.from('null');

function writeNull(target: Uint8Array, to: number): number {
  for (let index = 0; index < NULL.length; index += 1) target[to + index] = NULL[index] as number;
  return to + NULL.length;
}

function isOneOf(bytes: Uint8Array, start: number, end: number, texts: readonly Uint8Array[]): boolean {
  return texts.some((text) => text.length === end - start && text.every((byte, index) => bytes[start + index] === byte));
}

function stops(own: readonly number[]): Uint8Array {
  const table = new Uint8Array(256);
  table.fill(1, 0, 0x20);
  for (const byte of [QUOTE, BACKSLASH, ...own]) table[byte] = 1;
  return table;
}

/** `"name":"` of each column, with a comma before all but the first, as words that are stored four bytes at a time. */
interface Labels {
  readonly words: Int32Array;
  /** Where the words of each label end. */
  readonly wordEnds: Int32Array;
  /** In bytes. */
  readonly lengths: Int32Array;
}

function labelsOf(names: readonly string[]): Labels {
  const texts = names.map((name, index) => Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:"`));
  const counts = texts.map((text) => Math.ceil(text.length / 4));
  const words: number[] = [];
  const wordEnds: number[] = [];
  for (const [index, text] of texts.entries()) {
    const padded = Buffer.alloc((counts[index] ?? 0) * 4);
    padded.set(text);
    for (let at = 0; at < padded.length; at += 4) words.push(padded.readInt32LE(at));
    wordEnds.push(words.length);
  }
  return { words: Int32Array.from(words), wordEnds: Int32Array.from(wordEnds), lengths: Int32Array.from(texts, (text) => text.length) };
}
