import type { ByteWriter } from './byte-writer.ts';
import { Columns, MISSING } from './columns.ts';

/**
 * Room for a page of the usual size to begin with, and for fewer rows where there are many columns.
 */
const ROWS = 1024;
const CELLS = 64 * 1024;
const FEW_ROWS = 16;
/**
 * With a power of two between them the cells of a row would all fall into the same few lines of the
 * processor's cache.
 */
const ODD_ROWS = 16;

/**
 * Where the cells of a page stand in its bytes: column after column, each with room for the same
 * number of rows.
 */
export class CellMarks {
  starts = new Uint32Array(0);
  ends = new Uint32Array(0);
  kinds = new Uint8Array(0);
  /** Rows a column has room for. */
  capacity = ROWS + ODD_ROWS;
  /** Rows marked so far. */
  count = 0;
  #width = 0;

  /** Makes room for so many columns; the rows marked so far do not have the new ones. */
  setWidth(width: number): void {
    if (width <= this.#width) return;
    const rows = Math.max(FEW_ROWS, Math.min(ROWS, CELLS / width));
    this.#resize(width, this.count === 0 ? Math.trunc(rows) + ODD_ROWS : this.capacity);
  }

  /** Makes room for more rows. */
  grow(): void {
    this.#resize(this.#width, this.capacity * 2);
  }

  /** What is marked, as columns; `inLines` when the cells lie in them with nothing else between. */
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
