/**
 * Records of one shape, taken apart into cells that lie in bytes: nothing is decoded before
 * somebody needs a value. Columns are values: an operation makes new ones that share the bytes and
 * all columns it does not touch, so that a page can always be read again as it came.
 */
import type { ByteWriter } from './byte-writer.ts';

/**
 * How a cell stands in the bytes. From `TEXT` on it is a string, spelled as inside a JSON string
 * and without the quotes.
 */
export const MISSING = 0;
export const NULL = 1;
export const FALSE = 2;
export const TRUE = 3;
/** In the one spelling this program writes. */
export const NUMBER = 4;
/** A list or an object, as compact JSON. */
export const NESTED = 5;
/** No escapes: what stands there is the text itself. */
export const TEXT = 6;
export const ESCAPED = 7;

/** One cell a row: where it starts and ends in the bytes of its page, and how it stands there. */
export interface Column {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly kinds: Uint8Array;
}

/**
 * Columns whose cells lie in lines of JSON: in every row one behind the other, with `,"name":` and
 * the quotes of texts between them.
 */
export interface CellLines {
  readonly names: readonly string[];
  /** A row that lacks one lacks all that follow. */
  readonly columns: readonly Column[];
}

export interface ColumnsParts {
  /** Different from each other. */
  readonly names: readonly string[];
  readonly columns: readonly Column[];
  /** Cells of every column. */
  readonly height: number;
  /** The rows that take part, ascending; all when absent. */
  readonly rows?: Uint32Array;
  /** Holds every cell; new cells are added at the end. */
  readonly cells: ByteWriter;
  /**
   * How the cells came, where they came in lines: what stands between two that are neighbours still
   * need not be written anew.
   */
  readonly lines?: CellLines | undefined;
}

export class Columns {
  /** In the order in which a record lists its fields. */
  readonly names: readonly string[];
  readonly columns: readonly Column[];
  readonly height: number;
  readonly rows: Uint32Array;
  readonly cells: ByteWriter;
  readonly lines: CellLines | undefined;

  constructor({ names, columns, height, rows, cells, lines }: ColumnsParts) {
    const order = fieldOrder(names);
    this.names = order === undefined ? names : order.map((index) => names[index] as string);
    this.columns = order === undefined ? columns : order.map((index) => columns[index] as Column);
    this.height = height;
    this.rows = rows ?? allRows(height);
    this.cells = cells;
    this.lines = lines;
  }

  get count(): number {
    return this.rows.length;
  }

  column(name: string): Column | undefined {
    const index = this.names.indexOf(name);
    return index === -1 ? undefined : this.columns[index];
  }

  /** The same columns under other names. */
  renamed(names: readonly string[]): Columns {
    return this.changed({ names });
  }

  /** Those of the columns that are there, in the order of `names`. */
  picked(names: readonly string[]): Columns {
    const there = [...new Set(names)].filter((name) => this.names.includes(name));
    return this.changed({
      names: there,
      columns: there.map((name) => this.column(name) as Column),
    });
  }

  /** Puts a column in the place of the one that has its name, or behind all others. */
  with(name: string, column: Column): Columns {
    const index = this.names.indexOf(name);
    if (index === -1)
      return this.changed({ names: [...this.names, name], columns: [...this.columns, column] });
    return this.changed({ columns: this.columns.with(index, column) });
  }

  /** Only these of the rows. */
  kept(rows: Uint32Array): Columns {
    return this.changed({ rows });
  }

  /** The same page with other parts. */
  changed(parts: Partial<ColumnsParts>): Columns {
    const { names, columns, height, rows, cells, lines } = this;
    return new Columns({ names, columns, height, rows, cells, lines, ...parts });
  }

  /**
   * Whether every row has a cell there: only then a changed cell keeps its place among the fields
   * of its record.
   */
  isWhole(column: Column): boolean {
    const { rows } = this;
    const { kinds } = column;
    for (let index = 0; index < rows.length; index += 1)
      if (kinds[rows[index] as number] === MISSING) return false;
    return true;
  }
}

/**
 * Whether a cell of the column may be a list or an object; rows that take no part are looked at
 * too.
 */
export function mayNest({ kinds }: Column): boolean {
  return kinds.includes(NESTED);
}

let identity = Uint32Array.from({ length: 1024 }, (_, row) => row);

function allRows(height: number): Uint32Array {
  if (identity.length < height)
    identity = Uint32Array.from({ length: height * 2 }, (_, row) => row);
  return identity.subarray(0, height);
}

const INDEX_LIKE = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * Objects list keys that look like an index first, ascending; `undefined` when the names stand in
 * that order already.
 */
function fieldOrder(names: readonly string[]): number[] | undefined {
  if (!names.some((name) => INDEX_LIKE.test(name))) return undefined;
  return Object.values(Object.fromEntries(names.map((name, index) => [name, index])));
}
