/**
 * Records of one shape, split into cells that are ranges of bytes; a cell is decoded only when its
 * value is needed. Columns are immutable: an operation makes new ones that share the bytes and all
 * columns it does not change, so that the original page can always be read again.
 */
import type { ByteWriter } from './byte-writer.ts';

/**
 * The kinds of cells. From `TEXT` on a cell is a string, encoded as inside a JSON string but
 * without the quotes.
 */
export const MISSING = 0;
export const NULL = 1;
export const FALSE = 2;
export const TRUE = 3;
/** In the canonical form that this program writes. */
export const NUMBER = 4;
/** A list or an object, as compact JSON. */
export const NESTED = 5;
/** Without escapes: the bytes are the text itself. */
export const TEXT = 6;
export const ESCAPED = 7;

/** One cell per row: where it starts and ends in the bytes of its page, and its kind. */
export interface Column {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly kinds: Uint8Array;
}

/**
 * Columns whose cells are in lines of JSON: in each row one after the other, with `,"name":` and
 * the quotes of texts between them.
 */
export interface CellLines {
  readonly names: readonly string[];
  /** A row without one of them has none of those that follow. */
  readonly columns: readonly Column[];
}

export interface ColumnsParts {
  /** All different. */
  readonly names: readonly string[];
  readonly columns: readonly Column[];
  /** Number of cells in each column. */
  readonly height: number;
  /** The selected rows, ascending; all when absent. */
  readonly rows?: Uint32Array;
  /** Holds every cell; new cells are added at the end. */
  readonly cells: ByteWriter;
  /**
   * The lines that the cells were read from: bytes between two cells that are still neighbours need
   * not be written again.
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

  /** The same columns with other names. */
  renamed(names: readonly string[]): Columns {
    return this.changed({ names });
  }

  /** The existing ones of these columns, in the order of `names`. */
  picked(names: readonly string[]): Columns {
    const there = [...new Set(names)].filter((name) => this.names.includes(name));
    return this.changed({
      names: there,
      columns: there.map((name) => this.column(name) as Column),
    });
  }

  /** Replaces the column with this name, or adds the column at the end. */
  with(name: string, column: Column): Columns {
    const index = this.names.indexOf(name);
    if (index === -1)
      return this.changed({ names: [...this.names, name], columns: [...this.columns, column] });
    return this.changed({ columns: this.columns.with(index, column) });
  }

  /** The same page with only these rows. */
  kept(rows: Uint32Array): Columns {
    return this.changed({ rows });
  }

  /** The same page with other parts. */
  changed(parts: Partial<ColumnsParts>): Columns {
    const { names, columns, height, rows, cells, lines } = this;
    return new Columns({ names, columns, height, rows, cells, lines, ...parts });
  }

  /**
   * Whether every row has a cell in this column: only then does a changed cell keep its position
   * among the fields of its record.
   */
  isWhole(column: Column): boolean {
    const { rows } = this;
    const { kinds } = column;
    for (let index = 0; index < rows.length; index += 1)
      if (kinds[rows[index] as number] === MISSING) return false;
    return true;
  }
}

/** Whether any record has the field. */
export function hasCells({ rows }: Columns, { kinds }: Column): boolean {
  for (let index = 0; index < rows.length; index += 1)
    if (kinds[rows[index] as number] !== MISSING) return true;
  return false;
}

/**
 * Whether a cell of the column may be a list or an object; rows that are not selected count too.
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
 * JavaScript objects list keys that look like an index first, ascending; `undefined` when the names
 * are already in that order.
 */
function fieldOrder(names: readonly string[]): number[] | undefined {
  if (!names.some((name) => INDEX_LIKE.test(name))) return undefined;
  return Object.values(Object.fromEntries(names.map((name, index) => [name, index])));
}
