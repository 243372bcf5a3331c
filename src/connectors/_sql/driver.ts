import type { JsonValue } from '../../lib/text/json.ts';
import type { Page } from '../../kit/page.ts';
import type { ColumnType, DestinationColumn, SchemaChange } from '../../kit/sink.ts';

export interface LiveColumn extends DestinationColumn {
  /** The type as the database calls it. */
  readonly sqlType: string;
  /** False where only the database changes the value of a row. */
  readonly settable?: boolean;
}

export interface NewColumn {
  readonly name: string;
  readonly type: ColumnType;
}

export interface CommitToken {
  readonly scope: string;
  readonly token: string;
}

/** What one page does to one table: all of it in one transaction, or nothing. */
export interface TableChange {
  readonly table: string;
  /** Columns the rows fill, in table order; the other columns keep their default. */
  readonly columns: readonly LiveColumn[];
  /** Values in the order of `columns`. */
  readonly rows: readonly (readonly JsonValue[])[];
  /** `upsert` replaces the row with the same key; keys are unique within the change. */
  readonly mode: 'insert' | 'upsert';
  /** The values are finished text (a record as JSON): stored as they are. */
  readonly finished: boolean;
  readonly key: readonly LiveColumn[];
  /** Key values, in the order of `key`, of rows to remove. */
  readonly deletes: readonly (readonly JsonValue[])[];
  /** Stored in the same transaction. */
  readonly commit?: CommitToken;
  readonly hold?: Hold | undefined;
  /** The run in whose rollback log the rows stand that the change replaces or removes. */
  readonly loggedFor?: string | undefined;
}

/**
 * Leaves the transaction open, and what comes next joins it: until `settle`, or until a change
 * brings its token.
 */
export type Hold = 'flush' | 'token';

/** Which rows of a table to remove: those inside the scope without one of the keys. */
export interface TableSweep {
  readonly table: string;
  readonly scope: readonly { readonly column: LiveColumn; readonly value: JsonValue }[];
  readonly key: readonly LiveColumn[];
  /** Values in the order of `key`. */
  readonly keys: readonly (readonly JsonValue[])[];
  /** As in a change. */
  readonly loggedFor?: string | undefined;
}

export interface PassOptions {
  /** Empty when rows are appended. */
  readonly key: readonly string[];
  readonly commit?: CommitToken | undefined;
  readonly hold?: Hold | undefined;
}

/** One database behind the shared sink. Failures are `ConnectorError`s. */
export interface SqlDriver {
  /** Columns that can be written, in table order; `undefined` when there is no such table. */
  columns(table: string): Promise<readonly LiveColumn[] | undefined>;
  /** Makes a table unless somebody else just did. */
  createTable(table: string, columns: readonly NewColumn[], key: readonly string[]): Promise<void>;
  apply(change: TableChange): Promise<void>;
  /**
   * Appends a page whose block or columns the database reads without its records, or replaces the
   * rows with its `key`, in one transaction. False, and nothing done, when block and table do not
   * agree or a key is null: the page is then written as records.
   */
  pass?(table: string, page: Page, options: PassOptions): Promise<boolean>;
  /**
   * Present when changes can be held: commits what is held. A failure of what joins a transaction
   * rolls all of it back, and every later call fails.
   */
  settle?(): Promise<void>;
  /** Gives the number of rows that it removed. Absent where that is not possible. */
  sweep?(sweep: TableSweep): Promise<number>;
  lastToken(scope: string): Promise<string | undefined>;
  evolve(table: string, change: SchemaChange): Promise<void>;
  /** Which part of the table an overwrite replaces; absent where that is all of it. */
  readonly part?: string;
  /** Tables whose names begin so. */
  tablesFrom(prefix: string): Promise<readonly string[]>;
  /** Makes `staging` an empty copy of `table`. */
  stage(table: string, staging: string): Promise<void>;
  /**
   * Puts the rows of `staging` in the place of those of `table` at once, or renames it when there
   * is no `table`; `staging` is gone after. With `loggedFor`, the replaced rows are kept for that
   * run.
   */
  swap(table: string, staging: string, loggedFor?: string): Promise<void>;
  /** Absent where runs cannot be rolled back. */
  readonly rollback?: RollbackDriver;
  drop(table: string): Promise<void>;
  close(): Promise<void>;
}

/** What databases say differently about a rollback log. */
export interface RollbackDialect {
  /** The placeholder of the value at this place, from 1. */
  readonly slot: (place: number) => string;
  /** A table as statements name it. */
  readonly table: (name: string) => string;
  /** An expression of text, as JSON. */
  readonly json: (text: string) => string;
  /** What a kept text says, as a value of the column. */
  readonly decode: (text: string, column: LiveColumn) => string;
  /** Joins each row that an entry `j` keeps; then the expression it stands in. */
  readonly images: { readonly join: string; readonly image: string };
  /** The labels of an image, as a relation `k` with a column `key`. */
  readonly labels: (image: string) => string;
  /** Lets a row have what the database would make itself. */
  readonly overriding: string;
  readonly now: string;
}

/** A transaction in which a run is rolled back. */
export interface RollbackSession {
  /** Gives the number of rows that changed. */
  run(sql: string, values?: readonly (string | null)[]): Promise<number>;
  all(
    sql: string,
    values?: readonly (string | null)[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;
  columns(table: string): Promise<readonly LiveColumn[] | undefined>;
  /** Sets the commit token of a scope, or removes it. */
  setToken(scope: string, token: string | undefined): Promise<void>;
}

export interface RollbackDriver {
  readonly dialect: RollbackDialect;
  /** Unless it is there. */
  createRollbackLog(): Promise<void>;
  /** Does all of it or nothing; at most one at a time for each table. */
  atOnce<T>(table: string, work: (session: RollbackSession) => Promise<T>): Promise<T>;
}

/** Table of the commit tokens, one row a scope. */
export const TOKEN_TABLE = '_svc_commit_token';
