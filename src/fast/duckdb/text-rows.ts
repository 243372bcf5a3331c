import type { DuckDBDataChunk } from '@duckdb/node-api';
import { NULL, type Column, type Columns } from '../../kit/columns.ts';
import { CHUNK_ROWS } from '../../lib/sql/duckdb.ts';
import { fillTexts } from './text-chunk.ts';
import { TextColumn, TextHeap } from './text-heap.ts';

/** Approximate memory of a value besides its text. */
const VALUE_BYTES = 16;

type RowValue = boolean | bigint | number | string | undefined;

/** Rows of a chunk, and the bytes their texts lie in. */
interface Slice {
  readonly row: number;
  readonly rows: number;
  readonly bytesFrom: number;
  readonly bytesTo: number;
}

/**
 * The rows of one row group as `ParquetRows` keeps them, but with all texts in one buffer, in which
 * the engine finds them by their addresses.
 */
export class TextRows {
  rows = 0;
  readonly #heap = new TextHeap();
  readonly #texts: ReadonlyMap<number, TextColumn>;
  /** Values of the columns that are not text. */
  readonly #values: (RowValue | null)[][];
  #slices: Slice[] = [];
  #fetched = 0;

  constructor(isText: readonly boolean[]) {
    this.#texts = new Map(
      isText.flatMap((text, index) => (text ? [[index, new TextColumn()] as const] : [])),
    );
    this.#values = isText.map(() => []);
  }

  /** About how much memory the rows take. */
  get bytes(): number {
    return this.#heap.length + this.rows * this.#values.length * VALUE_BYTES;
  }

  clear(): void {
    this.rows = 0;
    this.#heap.length = 0;
    for (const values of this.#values) values.length = 0;
    this.#slices = [];
    this.#fetched = 0;
  }

  /** Takes as many rows as a chunk holds at most. */
  addValues(rows: number, valuesOf: (column: number) => readonly RowValue[]): void {
    const bytesFrom = this.#heap.length;
    for (const [index, values] of this.#values.entries()) {
      const text = this.#texts.get(index);
      if (text === undefined) for (const value of valuesOf(index)) values.push(value ?? null);
      else this.#heap.addTexts(valuesOf(index) as readonly (string | undefined)[], text, this.rows);
    }
    this.#endSlice(rows, bytesFrom);
  }

  /**
   * Adds rows of a page of columns; false, with nothing added, when a cell is neither text nor null.
   */
  addCells(
    { cells, count }: Columns,
    taken: readonly (Column | undefined)[],
    rows: Uint32Array,
  ): boolean {
    const bytesFrom = this.#heap.length;
    // The bytes of a page that is a single chunk are copied as a whole.
    const [from, to] = rows.length === count ? [0, cells.length] : extentOf(taken, rows);
    const shift = this.#heap.addBlock(cells.bytes.subarray(from, to)) - from;
    for (const [index, into] of this.#texts) {
      if (this.#heap.addCells(taken[index], { rows, shift, into, row: this.rows })) continue;
      this.#heap.length = bytesFrom;
      return false;
    }
    this.#endSlice(rows.length, bytesFrom);
    return true;
  }

  /** Puts the next rows into an empty chunk; none when all have been fetched. */
  fetch(chunk: DuckDBDataChunk): void {
    const slice = this.#slices[this.#fetched];
    chunk.rowCount = slice?.rows ?? 0;
    if (slice === undefined) return;
    this.#fetched += 1;
    fillTexts(chunk, this.#texts, { ...slice, bytes: this.#heap.bytes });
    for (const [index, values] of this.#values.entries()) {
      if (!this.#texts.has(index))
        chunk.setColumnValues(
          index,
          values.slice(slice.row, slice.row + slice.rows) as (bigint | null)[],
        );
    }
  }

  /** Small pages make one slice together: the engine works best on whole chunks. */
  #endSlice(rows: number, bytesFrom: number): void {
    const last = this.#slices.at(-1);
    const bytesTo = this.#heap.length;
    if (last !== undefined && last.rows + rows <= CHUNK_ROWS)
      this.#slices[this.#slices.length - 1] = { ...last, rows: last.rows + rows, bytesTo };
    else this.#slices.push({ row: this.rows, rows, bytesFrom, bytesTo });
    this.rows += rows;
  }
}

/** From where to where in the bytes of their page the cells of some rows lie. */
function extentOf(columns: readonly (Column | undefined)[], rows: Uint32Array): [number, number] {
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  for (const column of columns) {
    if (column === undefined) continue;
    const { starts, ends, kinds } = column;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index] as number;
      if ((kinds[row] as number) <= NULL) continue;
      from = Math.min(from, starts[row] as number);
      to = Math.max(to, ends[row] as number);
    }
  }
  return to === 0 ? [0, 0] : [from, to];
}
