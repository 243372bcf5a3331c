/**
 * What the SQL of a history needs of a database: statements that both SQLite and PostgreSQL
 * understand, with `?` for values.
 */
import type { SQLOutputValue } from 'node:sqlite';

export type Row = Readonly<Record<string, SQLOutputValue>>;

export type SqlValue = string | number | null;

export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** It gives rows: a query, or a change with `RETURNING`. */
  readonly returns?: boolean;
  /** The same for many rows at once, where the database takes arrays. */
  readonly many?: ManyRows;
}

/**
 * One statement that does the work of many equal ones. Its values are arrays: the n-th holds the
 * n-th value of each.
 */
export interface ManyRows {
  readonly sql: string;
  /** Fewer are done one by one, which costs less then. */
  readonly atLeast?: number;
  /**
   * It returns, as `key`, this value of each statement that changed a row; without it every one of
   * them counts as changed.
   */
  readonly keyAt?: number;
}

export interface SqlResult {
  readonly rows: readonly Row[];
  /** Number of rows that were changed or returned. */
  readonly changed: number;
}

/**
 * One change, step by step: it gives the statements of a step, which are done in this order, and
 * gets their results. It does nothing else, because it may be begun again after it was rolled back.
 */
export type SqlScript<T> = Generator<readonly SqlStatement[], T, readonly SqlResult[]>;

export interface SqlReadOptions {
  /**
   * Gives what everybody sees, before the disk has it: for what becomes part of a write, which the
   * disk has later.
   */
  readonly isSeenAtOnce?: boolean;
}

export interface SqlWriteOptions {
  /** Nobody waits for it: where tables are locked it may be tried for longer. */
  readonly background?: boolean;
  /** Resolves when everybody sees it, before the disk has it. */
  readonly isSeenAtOnce?: boolean;
  /**
   * Names of what it reads and changes. Writes that name nothing in common may be done side by
   * side; one that does not say it is done alone.
   */
  readonly touches?: readonly string[];
  /**
   * In no order with other writes: it waits for none of them, and none for it. For what may be long,
   * or waits for other servers.
   */
  readonly isAside?: boolean;
  /**
   * Whoever asked cannot go on without knowing whether it was done: where the answer of the
   * database was lost, it waits for the database.
   */
  readonly isDecisive?: boolean;
}

/** What databases do differently. */
export interface SqlDialect {
  /** Ends a `SELECT` inside of a change: no other instance gets the rows that this one takes. */
  readonly lockRows: string;
  /** Stands behind the table of runs where those of the queue are read in the order of `byTurn`. */
  readonly inTurn: string;
  /**
   * Locks names until the end of the change, against other instances: shared with others that do
   * so, or alone.
   */
  lockNames(names: readonly string[], how: 'shared' | 'alone'): readonly SqlStatement[];
}

export interface SqlStore {
  readonly dialect: SqlDialect;
  read(sql: string, values: readonly SqlValue[], options?: SqlReadOptions): Promise<readonly Row[]>;
  /**
   * In one transaction; gives the number of rows that each statement changed. Rejects with
   * `HistoryError`.
   */
  write(statements: readonly SqlStatement[], options?: SqlWriteOptions): Promise<readonly number[]>;
  /**
   * The same for writes without a waiting caller: it may share a transaction with later writes, and
   * is seen by every later read.
   */
  writeDeferred(
    statements: readonly SqlStatement[],
    options?: Pick<SqlWriteOptions, 'touches'>,
  ): Promise<readonly number[]>;
  /** As `write`, for changes that look at what is there. */
  change<T>(script: () => SqlScript<T>, options?: SqlWriteOptions): Promise<T>;
  /** Resolves when the database can be written. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type ColumnType = 'text' | 'bigint' | 'integer';

/**
 * The insert of one row, which may be done for many at once: then in the order of `orderBy`, if it
 * matters. `conflict` is its last clause.
 */
export function insertInto(
  table: string,
  columns: Readonly<Record<string, ColumnType>>,
  conflict = '',
  orderBy?: string,
): (values: readonly SqlValue[]) => SqlStatement {
  const names = Object.keys(columns);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ${conflict}`;
  const arrays = Object.values(columns).map((type) => `?::${type}[]`);
  const order = orderBy === undefined ? '' : `AS v (${names.join(', ')}) ORDER BY v.${orderBy}`;
  const many: ManyRows = {
    sql: `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')}) ${order} ${conflict}`,
  };
  return (values) => ({ sql, values, many });
}
