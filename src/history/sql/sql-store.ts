/**
 * What the SQL of a part needs of a database: statements that both SQLite and PostgreSQL
 * understand, with `?` for values.
 */
import type { Row } from './sqlite-client.ts';

export type SqlValue = string | number | null;

export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export interface SqlWriteOptions {
  /** Nobody waits for it: where tables are locked it may be tried for longer. */
  readonly background?: boolean;
}

export interface SqlStore {
  read(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
  /**
   * In one transaction; gives the number of rows that each statement changed. Rejects with
   * `HistoryError`.
   */
  write(statements: readonly SqlStatement[], options?: SqlWriteOptions): Promise<readonly number[]>;
  /**
   * The same for writes without a waiting caller: it may share a transaction with later writes, and
   * is seen by every later read.
   */
  writeDeferred(statements: readonly SqlStatement[]): Promise<readonly number[]>;
}
