import type { ByteWriter } from './byte-writer.ts';
import { Columns, MISSING } from './columns.ts';

/** Initial capacity: a page of the usual size, and fewer rows where there are many columns. */
const ROWS = 1024;
const CELLS = 64 * 1024;
const FEW_ROWS = 16;
/**
 * An odd number of extra rows: with a power of two the cells of a row would all use the same few
 * cache lines of the processor.
 */
const ODD_ROWS = 16;

/**
 * Positions of the cells of a page in its bytes: column after column, each with space for the same
 * number of rows.
 */
export class CellMarks {
  starts = new Uint32Array(0);
  ends = new Uint32Array(0);
  kinds = new Uint8Array(0);
  /** Rows that a column has space for. */
  capacity = ROWS + ODD_ROWS;
  /** Rows marked so far. */
  count = 0;
  #width = 0;

  /** Makes space for this many columns; rows marked so far have no cells in the new ones. */
  setWidth(width: number): void {
    if (width <= this.#width) return;
    const rows = Math.max(FEW_ROWS, Math.min(ROWS, CELLS / width));
    this.#resize(width, this.count === 0 ? Math.trunc(rows) + ODD_ROWS : this.capacity);
  }

  grow(): void {
    this.#resize(this.#width, this.capacity * 2);
  }

  /**
   * The marked cells as columns; `inLines` when the cells are parts of JSON lines, with nothing
   * else between them.
   */
  columns(names: readonly string[], cells: ByteWriter, { inLines } = { inLines: true }): Columns {
    const { count: height, capacity, starts, ends, kinds } = this;
    const columns = names.map((_, index) => {
      const [from, to] = [index * capacity, index * capacity + height];
      return {
        starts: starts.subarray(from, to),
        ends: ends.subarray(from, to),
        kinds: kinds.subarray(from, to),
      };
    });
    return new Columns({
      names,
      columns,
      height,
      cells,
      lines: inLines ? { names, columns } : undefined,
    });
  }

  #resize(width: number, capacity: number): void {
    const [starts, ends, kinds] = [
      new Uint32Array(width * capacity),
      new Uint32Array(width * capacity),
      new Uint8Array(width * capacity),
    ];
    kinds.fill(MISSING);
    for (let column = 0; column < this.#width; column += 1) {
      const [from, to] = [column * this.capacity, column * this.capacity + this.count];
      starts.set(this.starts.subarray(from, to), column * capacity);
      ends.set(this.ends.subarray(from, to), column * capacity);
      kinds.set(this.kinds.subarray(from, to), column * capacity);
    }
    Object.assign(this, { starts, ends, kinds, capacity });
    this.#width = width;
  }
}
