/** Writes columns as JSON Lines, with the same bytes as for their records. */
import { MISSING, TEXT, type Column, type Columns } from './columns.ts';

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/**
 * Eight bytes are copied at once, as a double, which is several times as fast as copying single
 * bytes. The eight bytes of UTF-8 text are never a NaN, the one double whose bits may change: its
 * last two bytes would be the start of a four-byte character followed by 0x7f, or 0xff.
 */
const WORD = 8;
/** Quotes around a cell. */
const CELL_ROOM = 2;
/** The end of a row, and the bracket of a row without cells. */
const ROW_ROOM = 3;
/** Longer cells are copied faster by the system. */
const LONG_BYTES = 256;

/** Columns, in the order in which lines have them. */
export type CellsOfLines = Pick<Columns, 'names' | 'columns' | 'rows' | 'cells' | 'lines'>;

/** The lines are appended to the cells of the page and share their memory. */
export function writeLines(columns: CellsOfLines): Uint8Array {
  const { cells } = columns;
  const start = cells.length;
  const layout = { ...labelsOf(columns.names), lasts: lastsOf(columns) };
  cells.ensure(sizeOf(columns, layout) + WORD);
  cells.length = writeRows(columns, layout, start);
  return cells.bytes.subarray(start, cells.length);
}

/** `,"name":` of each column, padded to whole words. */
interface Labels {
  readonly words: Float64Array;
  /** Where the words of each label end. */
  readonly wordEnds: Int32Array;
  /** In bytes. */
  readonly lengths: Int32Array;
}

interface Layout extends Labels {
  /**
   * For each column: the last of the columns that directly follow it in the bytes exactly as they
   * will be written; the column itself when there is none.
   */
  readonly lasts: Int32Array;
}

function labelsOf(names: readonly string[]): Labels {
  const texts = names.map((name) => Buffer.from(`,${JSON.stringify(name)}:`));
  const padded = texts.map((text) =>
    Buffer.concat([text, Buffer.alloc(-text.length & (WORD - 1))]),
  );
  const all = Buffer.concat(padded);
  let end = 0;
  return {
    words: Float64Array.from({ length: all.length / WORD }, (_, index) =>
      all.readDoubleLE(index * WORD),
    ),
    wordEnds: Int32Array.from(padded, (text) => (end += text.length / WORD)),
    lengths: Int32Array.from(texts, (text) => text.length),
  };
}

function lastsOf({ names, columns, lines }: CellsOfLines): Int32Array {
  const lasts = Int32Array.from(columns, (_, index) => index);
  if (lines === undefined) return lasts;
  const places = new Map(lines.columns.map((column, place) => [column, place]));
  for (let index = columns.length - 1; index > 0; index -= 1) {
    const place = places.get(columns[index] as Column) ?? 0;
    const follows =
      place > 0 &&
      columns[index - 1] === lines.columns[place - 1] &&
      names[index] === lines.names[place];
    if (follows) lasts[index - 1] = lasts[index] as number;
  }
  return lasts;
}

/** An upper bound: it counts missing cells too. */
function sizeOf({ columns, rows }: CellsOfLines, { lengths }: Layout): number {
  let size =
    rows.length * (ROW_ROOM + lengths.reduce((sum, length) => sum + length + CELL_ROOM, 0));
  for (const { starts, ends } of columns) {
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index] as number;
      size += (ends[row] as number) - (starts[row] as number);
    }
  }
  return size;
}

function writeRows(
  { columns, rows, cells }: CellsOfLines,
  { words, wordEnds, lengths, lasts }: Layout,
  start: number,
): number {
  const bytes: Uint8Array = cells.bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const starts = columns.map((column) => column.starts);
  const ends = columns.map((column) => column.ends);
  const kinds = columns.map((column) => column.kinds);
  const width = columns.length;
  let to = start;
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] as number;
    const mark = to;
    let word = 0;
    for (let column = 0; column < width; column += 1) {
      const kind = (kinds[column] as Uint8Array)[row] as number;
      const wordEnd = wordEnds[column] as number;
      if (kind === MISSING) {
        word = wordEnd;
        continue;
      }
      for (let ahead = to; word < wordEnd; word += 1, ahead += WORD)
        view.setFloat64(ahead, words[word] as number, true);
      to += lengths[column] as number;
      const from = (starts[column] as Uint32Array)[row] as number;
      let lastKind = kind;
      const last = lasts[column] as number;
      if (last > column) {
        lastKind = (kinds[last] as Uint8Array)[row] as number;
        if (lastKind === MISSING) lastKind = kind;
        else {
          column = last;
          word = wordEnds[last] as number;
        }
      }
      const end = (ends[column] as Uint32Array)[row] as number;
      if (kind >= TEXT) {
        bytes[to] = QUOTE;
        to += 1;
      }
      if (end - from > LONG_BYTES) bytes.copyWithin(to, from, end);
      else
        for (let at = from, ahead = to; at < end; at += WORD, ahead += WORD)
          view.setFloat64(ahead, view.getFloat64(at, true), true);
      to += end - from;
      if (lastKind >= TEXT) {
        bytes[to] = QUOTE;
        to += 1;
      }
    }
    if (to === mark) to += 1;
    // Replaces the comma of the first label.
    bytes[mark] = OPEN;
    bytes[to] = CLOSE;
    bytes[to + 1] = LINE_FEED;
    to += 2;
  }
  return to;
}
