/**
 * Packs columns for another thread: all their data in one block of memory, which is transferred
 * instead of copied.
 */
import { ByteWriter } from './byte-writer.ts';
import { Columns, type Column } from './columns.ts';

const WORD = 4;
/**
 * New cells and lines are added after the existing cells; this many times their size is enough for
 * most.
 */
const ROOM = 1.5;

/**
 * The memory holds, in this order: the starts and ends of each column, the rows, the kinds of each
 * column, the cells, and free space for more of them.
 */
export interface ColumnBatch {
  readonly memory: ArrayBuffer;
  readonly names: readonly string[];
  /** Index of each column among the packed ones: lines and names may share columns. */
  readonly columns: readonly number[];
  readonly lines:
    | { readonly names: readonly string[]; readonly columns: readonly number[] }
    | undefined;
  /** Number of packed columns. */
  readonly width: number;
  readonly height: number;
  /** Number of selected rows; `undefined` when all are selected. */
  readonly rows: number | undefined;
  /** Bytes of the cells. */
  readonly cells: number;
}

/**
 * `allocate` returns a block of at least this many bytes; its content is overwritten. `room` is the
 * free space, in times the size of the cells.
 */
export function packColumns(
  columns: Columns,
  allocate: (bytes: number) => ArrayBuffer = (bytes) => new ArrayBuffer(bytes),
  room: number = ROOM,
): ColumnBatch {
  const { names, height, lines } = columns;
  const packed = [...new Set([...columns.columns, ...(lines?.columns ?? [])])];
  const placeOf = new Map(packed.map((column, place) => [column, place]));
  const placesOf = (some: readonly Column[]): number[] =>
    some.map((column) => placeOf.get(column) as number);
  const rows = columns.count === height ? undefined : columns.count;
  const cells = columns.cells.length;
  const shape = { width: packed.length, height, rows, cells };
  const memory = allocate(cellsAt(shape) + cells + Math.ceil(cells * room));
  const { words, kinds, bytes } = viewsOf(memory, shape);
  for (const [place, column] of packed.entries()) {
    words.set(column.starts.subarray(0, height), place * 2 * height);
    words.set(column.ends.subarray(0, height), (place * 2 + 1) * height);
    kinds.set(column.kinds.subarray(0, height), place * height);
  }
  if (rows !== undefined) words.set(columns.rows, packed.length * 2 * height);
  bytes.set(columns.cells.bytes.subarray(0, cells));
  const cellLines =
    lines === undefined ? undefined : { names: lines.names, columns: placesOf(lines.columns) };
  return { ...shape, memory, names, columns: placesOf(columns.columns), lines: cellLines };
}

/** The columns use the memory of the batch. */
export function unpackColumns(batch: ColumnBatch): Columns {
  const { memory, names, lines, width, height, rows } = batch;
  const { words, kinds, bytes } = viewsOf(memory, batch);
  const packed = Array.from({ length: width }, (_, place) => ({
    starts: words.subarray(place * 2 * height, (place * 2 + 1) * height),
    ends: words.subarray((place * 2 + 1) * height, (place * 2 + 2) * height),
    kinds: kinds.subarray(place * height, (place + 1) * height),
  }));
  const columnsAt = (places: readonly number[]): Column[] =>
    places.map((place) => packed[place] as Column);
  return new Columns({
    names,
    columns: columnsAt(batch.columns),
    height,
    cells: new ByteWriter({ bytes, length: batch.cells }),
    lines:
      lines === undefined ? undefined : { names: lines.names, columns: columnsAt(lines.columns) },
    ...(rows === undefined
      ? {}
      : { rows: words.subarray(width * 2 * height, width * 2 * height + rows) }),
  });
}

type Shape = Pick<ColumnBatch, 'width' | 'height' | 'rows' | 'cells'>;

function wordsOf({ width, height, rows = 0 }: Shape): number {
  return width * 2 * height + rows;
}

function cellsAt(shape: Shape): number {
  return wordsOf(shape) * WORD + shape.width * shape.height;
}

function viewsOf(
  memory: ArrayBuffer,
  shape: Shape,
): { words: Uint32Array; kinds: Uint8Array; bytes: Buffer<ArrayBuffer> } {
  const words = wordsOf(shape);
  return {
    words: new Uint32Array(memory, 0, words),
    kinds: new Uint8Array(memory, words * WORD, shape.width * shape.height),
    bytes: Buffer.from(memory, cellsAt(shape)),
  };
}
