/** Writes columns as JSON Lines: the bytes that their records would be written as. */
import { MISSING, TEXT, type Columns } from './columns.ts';

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** What a cell needs besides its label and bytes: its quotes, the end of the row, and a word that the copying may run over. */
const CELL_ROOM = 16;
/** From here on copying by the system is quicker. */
const LONG_BYTES = 256;

/** The lines are added to the cells of the page, and share their memory. */
export function writeLines(columns: Columns): Uint8Array {
  const { cells } = columns;
  const start = cells.length;
  const labels = columns.names.map((name) => Buffer.from(`,${JSON.stringify(name)}:`));
  const widest = labels.reduce((sum, label) => sum + label.length + CELL_ROOM, CELL_ROOM);
  cells.ensure(start + columns.rows.length * widest);
  for (const row of columns.rows) writeRow(columns, labels, row);
  return cells.bytes.subarray(start, cells.length);
}

function writeRow({ columns, cells }: Columns, labels: readonly Uint8Array[], row: number): void {
  let { bytes } = cells;
  const mark = cells.length;
  let to = mark;
  for (let index = 0; index < labels.length; index += 1) {
    const { starts, ends, kinds } = columns[index] as Columns['columns'][number];
    const kind = kinds[row] as number;
    if (kind === MISSING) continue;
    const label = labels[index] as Uint8Array;
    const from = starts[row] as number;
    const end = ends[row] as number;
    if (to + label.length + (end - from) + CELL_ROOM > bytes.length) {
      cells.length = to;
      cells.ensure(label.length + (end - from) + CELL_ROOM);
      bytes = cells.bytes;
    }
    to = copy(label, 0, label.length, bytes, to);
    if (kind >= TEXT) {
      bytes[to] = QUOTE;
      to = copy(bytes, from, end, bytes, to + 1);
      bytes[to] = QUOTE;
      to += 1;
    } else to = copy(bytes, from, end, bytes, to);
  }
  if (to === mark) to += 1;
  // In place of the comma of the first label.
  bytes[mark] = OPEN;
  bytes[to] = CLOSE;
  bytes[to + 1] = LINE_FEED;
  cells.length = to + 2;
}

// oxlint-disable-next-line max-params
function copy(source: Uint8Array, from: number, end: number, target: Uint8Array, to: number): number {
  if (end - from > LONG_BYTES) {
    target.set(source.subarray(from, end), to);
    return to + end - from;
  }
  for (; from < end; from += 1, to += 1) target[to] = source[from] as number;
  return to;
}
