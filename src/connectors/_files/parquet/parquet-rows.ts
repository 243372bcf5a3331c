import type { DuckDBDataChunk } from '@duckdb/node-api';
import { readText } from '../../../kit/cells.ts';
import { NULL, TEXT, type Column, type Columns } from '../../../kit/columns.ts';
import { CHUNK_ROWS } from '../../../lib/sql/duckdb.ts';

/** Approximate memory of a value besides its text. */
const VALUE_BYTES = 16;

export type RowValue = boolean | bigint | number | string | undefined;

/**
 * The rows of one row group, column by column, until the engine fetches them chunk by chunk. Reused
 * for later groups. Callers add at most one chunk at a time.
 */
export interface ParquetRows {
  readonly rows: number;
  /** Approximate memory of the rows. */
  readonly bytes: number;
  clear(): void;
  addValues(rows: number, valuesOf: (column: number) => readonly RowValue[]): void;
  /**
   * Adds rows of a page of columns, all of which are texts. False, with nothing added, when a cell
   * is neither text nor null. A column that the page does not have is null.
   */
  addCells(columns: Columns, taken: readonly (Column | undefined)[], rows: Uint32Array): boolean;
  /** Fills an empty chunk with the next rows; leaves it empty when all have been fetched. */
  fetch(chunk: DuckDBDataChunk): void;
}

export class ValueRows implements ParquetRows {
  rows = 0;
  readonly #values: (RowValue | null)[][];
  #textBytes = 0;
  #fetched = 0;

  constructor(width: number) {
    this.#values = Array.from({ length: width }, () => []);
  }

  get bytes(): number {
    return this.#textBytes + this.rows * this.#values.length * VALUE_BYTES;
  }

  clear(): void {
    for (const values of this.#values) values.length = 0;
    this.rows = 0;
    this.#textBytes = 0;
    this.#fetched = 0;
  }

  addValues(rows: number, valuesOf: (column: number) => readonly RowValue[]): void {
    for (const [index, values] of this.#values.entries()) {
      for (const value of valuesOf(index)) {
        values.push(value ?? null);
        if (typeof value === 'string') this.#textBytes += value.length;
      }
    }
    this.rows += rows;
  }

  addCells({ cells }: Columns, taken: readonly (Column | undefined)[], rows: Uint32Array): boolean {
    const areTexts = taken.every(
      (column) => column === undefined || rows.every((row) => isTextOrNull(column, row)),
    );
    if (!areTexts) return false;
    this.addValues(rows.length, (index) => {
      const column = taken[index];
      return Array.from(rows, (row) =>
        column === undefined ? undefined : textOf(cells.bytes, column, row),
      );
    });
    return true;
  }

  fetch(chunk: DuckDBDataChunk): void {
    const from = this.#fetched;
    chunk.rowCount = Math.min(CHUNK_ROWS, this.rows - from);
    this.#fetched += chunk.rowCount;
    for (const [index, values] of this.#values.entries())
      chunk.setColumnValues(index, values.slice(from, this.#fetched) as (string | null)[]);
  }
}

function isTextOrNull({ kinds }: Column, row: number): boolean {
  const kind = kinds[row] as number;
  return kind <= NULL || kind >= TEXT;
}

function textOf(bytes: Buffer, { starts, ends, kinds }: Column, row: number): string | undefined {
  const kind = kinds[row] as number;
  if (kind <= NULL) return undefined;
  return readText(bytes, starts[row] as number, ends[row] as number, kind);
}
