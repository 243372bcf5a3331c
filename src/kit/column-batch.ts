/**
 * Columns on their way to another thread: everything they are made of in one block of memory, which
 * changes its owner instead of being copied.
 */
import { ByteWriter } from './byte-writer.ts';
import { Columns, type Column } from './columns.ts';

const WORD = 4;
/**
 * New cells and lines are written behind the cells that came; so many times the size of these
 * leaves room for most.
 */
const ROOM = 2.5;

/**
 * In this order: the starts and ends of each column, the rows, the kinds of each column, the cells,
 * and room for more of them.
 */
export interface ColumnBatch {
  readonly memory: ArrayBuffer;
  readonly names: readonly string[];
  /** The place of each column among those that are packed: lines and names may share some. */
  readonly columns: readonly number[];
  readonly lines:
    | { readonly names: readonly string[]; readonly columns: readonly number[] }
    | undefined;
  /** Columns packed. */
  readonly width: number;
  readonly height: number;
  /** How many rows take part; `undefined` when all do. */
  readonly rows: number | undefined;
  /** Bytes of the cells. */
  readonly cells: number;
}

/** `allocate` gives a block of at least so many bytes; whatever stands in it is written over. */
export function packColumns(
  columns: Columns,
  allocate: (bytes: number) => ArrayBuffer = (bytes) => new ArrayBuffer(bytes),
): ColumnBatch {
  const { names, height, lines } = columns;
  const packed = [...new Set([...columns.columns, ...(lines?.columns ?? [])])];
  const placeOf = new Map(packed.map((column, place) => [column, place]));
  const placesOf = (some: readonly Column[]): number[] =>
    some.map((column) => placeOf.get(column) as number);
  const rows = columns.count === height ? undefined : columns.count;
  const cells = columns.cells.length;
  const shape = { width: packed.length, height, rows, cells };
  const memory = allocate(cellsAt(shape) + Math.ceil(cells * ROOM));
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

/** They live in the memory of the batch. */
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
