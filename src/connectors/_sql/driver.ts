import { createHash } from 'node:crypto';
import type { JsonValue } from '../../lib/json.ts';
import type { Page } from '../../kit/page.ts';
import type { ColumnType, DestinationColumn, SchemaChange } from '../../kit/sink.ts';

export interface LiveColumn extends DestinationColumn {
  /** The type as the database calls it. */
  readonly sqlType: string;
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
}

/** Leaves the transaction open, and what comes next joins it: until `settle`, or until a change brings its token. */
export type Hold = 'flush' | 'token';

/** Which rows of a table to remove: those inside the scope without one of the keys. */
export interface TableSweep {
  readonly table: string;
  readonly scope: readonly { readonly column: LiveColumn; readonly value: JsonValue }[];
  readonly key: readonly LiveColumn[];
  /** Values in the order of `key`. */
  readonly keys: readonly (readonly JsonValue[])[];
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
   * Appends a page whose block or columns the database reads without its records, or replaces the rows with its `key`, in one transaction. False, and
   * nothing done, when block and table do not agree or a key is null: the page is then written as records.
   */
  pass?(table: string, page: Page, options: PassOptions): Promise<boolean>;
  /** Present when changes can be held: commits what is held. A failure of what joins a transaction undoes all of it, and every later call fails. */
  settle?(): Promise<void>;
  /** Gives the number of rows that it removed. Absent where that is not possible. */
  sweep?(sweep: TableSweep): Promise<number>;
  lastToken(scope: string): Promise<string | undefined>;
  evolve(table: string, change: SchemaChange): Promise<void>;
  /** Makes `staging` an empty copy of `table`, replacing a leftover. */
  stage(table: string, staging: string): Promise<void>;
  /** Puts the rows of `staging` in the place of those of `table` at once, or renames it when there is no `table`; `staging` is gone after. */
  swap(table: string, staging: string): Promise<void>;
  drop(table: string): Promise<void>;
  close(): Promise<void>;
}

/** Table of the commit tokens, one row a scope. */
export const TOKEN_TABLE = '_svc_commit_token';

/** PostgreSQL cuts longer names, and a cut staging name could be the name of the table itself. */
const NAME_BYTES = 63;
const STAGING_ENDING = '__svc_ovw';

/** Where an overwrite collects its rows: `<table>__svc_ovw`, or a name made from a hash when that is too long. */
export function stagingName(table: string): string {
  const name = `${table}${STAGING_ENDING}`;
  if (Buffer.byteLength(name) <= NAME_BYTES) return name;
  return `svc_${createHash('sha256').update(table).digest('hex').slice(0, 16)}${STAGING_ENDING}`;
}
