import type { RecordError } from '../../lib/errors.ts';
import type { Execution, HeldScope } from '../../kit/execution.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Page } from '../../kit/page.ts';
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import type { AddedColumn, DestinationColumn, SchemaChange } from '../../kit/sink.ts';
import type { Rounding } from './rounding.ts';
import type { NameRules, UnknownFields } from './column-names.ts';

export interface LiveColumn extends DestinationColumn {
  /** Name of the type in the database. */
  readonly sqlType: string;
  /** The type that stores the values, where `sqlType` is a domain over it. */
  readonly baseType?: string;
  /** The stored type with its length or precision, where it has one: `numeric(12,2)`. */
  readonly limits?: string;
  /** False for columns that only the database can set. */
  readonly settable?: boolean;
}

export type NewColumn = AddedColumn;

export interface CommitToken {
  readonly scope: string;
  readonly token: string;
  /** Absent where no other server takes the run over. */
  readonly execution?: Execution | undefined;
}

/** Rows that fill the same columns. */
export interface RowSet {
  /** In table order; other columns keep their value, or get their default in a new row. */
  readonly columns: readonly LiveColumn[];
  /** Values in the order of `columns`. */
  readonly rows: readonly (readonly JsonValue[])[];
  /** Which of the records each row is, where the driver tells which rows it refuses. */
  readonly places?: readonly number[];
}

/** A row of a change that was not written, while the others were. */
export interface RefusedRow {
  /** Among the sets of rows. */
  readonly set: number;
  readonly row: number;
  readonly error: RecordError;
}

/** What one page changes in one table, in one transaction. */
export interface TableChange {
  readonly table: string;
  /** Written in this order; empty when nothing is written. */
  readonly writes: readonly RowSet[];
  /** `upsert` replaces the row with the same key; keys are unique within the change. */
  readonly mode: 'insert' | 'upsert';
  /** The values are already text (a record as JSON) and are stored unchanged. */
  readonly finished: boolean;
  /** What is known of the fields of the page. */
  readonly schema?: RecordSchema | undefined;
  readonly key: readonly LiveColumn[];
  /** Key values, in the order of `key`, of rows to remove. */
  readonly deletes: readonly (readonly JsonValue[])[];
  /** Keys of rows that are deleted before the writes, which make them again. */
  readonly deletesBefore?: readonly (readonly JsonValue[])[] | undefined;
  /** Stored in the same transaction. */
  readonly commit?: CommitToken;
  readonly hold?: Hold | undefined;
  /** The run whose rollback log keeps the rows that the change replaces or removes. */
  readonly loggedFor?: string | undefined;
  /** Single rows may be refused; only for a driver with `tellsRows`. */
  readonly partial?: boolean;
}

/**
 * Leaves the transaction open for the following changes: until `settle`, or until a change has a
 * commit token.
 */
export type Hold = 'flush' | 'token';

/** A change of a whole table. */
export interface WholeChange {
  /** As in a change of a page. */
  readonly loggedFor?: string | undefined;
  /** Looked at in the transaction of the change, which fails when another execution has taken it. */
  readonly held?: HeldScope | undefined;
}

/** Which rows of a table to remove: those in the scope whose key is not listed. */
export interface TableSweep extends WholeChange {
  readonly table: string;
  readonly scope: readonly { readonly column: LiveColumn; readonly value: JsonValue }[];
  readonly key: readonly LiveColumn[];
  /** Values in the order of `key`. */
  readonly keys: readonly (readonly JsonValue[])[];
}

export interface PassOptions {
  /** Key columns; empty when rows are appended. */
  readonly key: readonly string[];
  readonly commit?: CommitToken | undefined;
  readonly hold?: Hold | undefined;
  /** Whether values that a column rounds end the run: such a page is written as records. */
  readonly refusesRounding: boolean;
}

/** A page that was written without making records. */
export interface Passed {
  readonly unknown: UnknownFields;
  /** How many values each column did not hold exactly. */
  readonly rounded?: ReadonlyMap<string, number>;
}

/** One kind of database, used by the shared sink. Failures are `ConnectorError`s. */
export interface SqlDriver {
  /** Columns that can be written, in table order; `undefined` when the table does not exist. */
  columns(table: string): Promise<readonly LiveColumn[] | undefined>;
  readonly names: NameRules;
  /**
   * Takes the value of a field out of a record, for a driver with a form of its own; it gets that
   * form back in the rows of a change. `isTyped`: the schema of the page says the type of the field.
   */
  readonly take?: (record: JsonObject, field: string, isTyped: boolean) => JsonValue;
  /**
   * What of the schema of a page counts, where records hold more than that; all of it when absent.
   */
  readonly schemaFor?: (
    schema: RecordSchema | undefined,
    records: readonly JsonValue[],
  ) => RecordSchema | undefined;
  /** What a column does to values that it does not hold exactly; `undefined` where it holds all. */
  readonly roundingOf: (column: LiveColumn, type: RecordType | undefined) => Rounding | undefined;
  /** Creates the table unless it exists by now. `records` are the first ones for it. */
  createTable(
    table: string,
    columns: readonly NewColumn[],
    options: { readonly key: readonly string[]; readonly records: readonly JsonValue[] },
  ): Promise<void>;
  /** With `partial`, the rows that were refused; all others are written then. */
  apply(change: TableChange): Promise<readonly RefusedRow[] | undefined | void>;
  /** Whether it can refuse single rows that are inserted. */
  readonly tellsRows?: boolean;
  /**
   * Writes a page directly from its block or columns, without making records: appends it, or
   * replaces the rows with its `key`, in one transaction. Returns `undefined` and does nothing when
   * the block does not fit the table or a key is null; the page is then written as records.
   */
  pass?(table: string, page: Page, options: PassOptions): Promise<Passed | undefined>;
  /**
   * Present when transactions can stay open: commits the open one. When a change in it fails, all
   * of it is rolled back and every later call fails.
   */
  settle?(): Promise<void>;
  /** Returns the number of removed rows. Absent where sweeps are not supported. */
  sweep?(sweep: TableSweep): Promise<number>;
  /**
   * With an execution the scope is its own from then on: commits of earlier ones of the same run, and
   * of other runs, are refused.
   */
  lastToken(scope: string, execution?: Execution): Promise<string | undefined>;
  /** Removes the token of a scope, also where there is no table of tokens. */
  forgetToken(scope: string): Promise<void>;
  /** `records` are those that need the change. */
  evolve(table: string, change: SchemaChange, records: readonly JsonValue[]): Promise<void>;
  /** The part of the table that an overwrite replaces; absent when it replaces all. */
  readonly part?: string;
  /** Tables whose names start with `prefix`. */
  tablesFrom(prefix: string): Promise<readonly string[]>;
  /** Creates `staging` as an empty copy of `table`. */
  stage(table: string, staging: string): Promise<void>;
  /**
   * Replaces the rows of `table` with those of `staging` in one step, or renames `staging` when
   * there is no `table`. `staging` does not exist afterwards. With `loggedFor`, the replaced rows
   * are kept for that run.
   */
  swap(table: string, staging: string, how: WholeChange): Promise<void>;
  /**
   * Whether `sweep`, `swap`, `drop` and `rollback` look at the scope that they are given as held.
   * Where it is absent they are given none.
   */
  readonly fenced?: boolean;
  /** Absent where runs cannot be rolled back. */
  readonly rollback?: RollbackDriver;
  /** `held`: as in `WholeChange`. */
  drop(table: string, held?: HeldScope): Promise<void>;
  close(): Promise<void>;
}

/** The parts of rollback statements that differ between databases. */
export interface RollbackDialect {
  /** The placeholder for the value with this number, from 1. */
  readonly slot: (place: number) => string;
  /** The name of a table for statements. */
  readonly table: (name: string) => string;
  /** Converts a text expression to JSON. */
  readonly json: (text: string) => string;
  /** Converts stored text to a value of the column. */
  readonly decode: (text: string, column: LiveColumn) => string;
  /** A join that adds each row stored in an entry `j`, and the expression for that row. */
  readonly images: { readonly join: string; readonly image: string };
  /** The labels of a stored row, as a relation `k` with a column `key`. */
  readonly labels: (image: string) => string;
  /** Allows values for columns that the database fills itself. */
  readonly overriding: string;
  readonly now: string;
}

/** The transaction of a rollback. */
export interface RollbackSession {
  /** Returns the number of changed rows. */
  run(sql: string, values?: readonly (string | null)[]): Promise<number>;
  all(
    sql: string,
    values?: readonly (string | null)[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;
  columns(table: string): Promise<readonly LiveColumn[] | undefined>;
  /** Sets the commit token of a scope, or removes it. */
  setToken(scope: string, token: string | undefined): Promise<void>;
}

export interface RollbackChange extends Pick<WholeChange, 'held'> {
  readonly table: string;
}

export interface RollbackDriver {
  readonly dialect: RollbackDialect;
  /** Does nothing when it exists. */
  createRollbackLog(): Promise<void>;
  /** Runs `work` in one transaction; only one at a time for each table. */
  atOnce<T>(change: RollbackChange, work: (session: RollbackSession) => Promise<T>): Promise<T>;
}

/** Table of the commit tokens, with one row per scope, and one that names its execution. */
export const TOKEN_TABLE = '_svc_commit_token';
