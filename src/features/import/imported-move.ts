/** What a project of another tool moves, in words of no tool: each reader gives this. */

export interface ImportedSystem {
  readonly kind: 'postgres' | 'mysql' | 'mongodb' | 'sqlite' | 'duckdb' | 'files';
  /**
   * Address of the database, or path of its file, as a document writes it: it may hold `${env:…}`.
   * Empty for files.
   */
  readonly address: string;
  /** Of MongoDB, and of MySQL where it is known; it may hold `${env:…}`. */
  readonly database?: string;
  /** Variables that the address names, each with what it has to hold. */
  readonly variables?: Readonly<Record<string, string>>;
}

export type WriteMode = 'append' | 'upsert' | 'overwrite';

/** Where reading goes on. */
export interface Cursor {
  readonly column: string;
  /** How far the other tool has come; undefined where that is not known. */
  readonly value: string | number | bigint | undefined;
  /** Known to be a column of numbers, also where the value is not known. */
  readonly isNumber?: boolean;
}

export type FileFormat = 'csv' | 'jsonl' | 'parquet';

/** Names and paths as a document writes them. */
export type Destination =
  | {
      readonly table: string;
      /** Undefined: where a connection writes by itself. */
      readonly schema: string | undefined;
    }
  /** Without a format the name of the file says which. */
  | { readonly path: string; readonly format?: FileFormat; readonly delimiter?: string };

export interface ImportedStream {
  readonly name: string;
  readonly reads:
    | {
        /** `[schema, table]`, or the table alone. */
        readonly table: readonly string[];
        readonly columns?: readonly string[];
        readonly where?: string;
      }
    | { readonly sql: string }
    /** As a document writes it. */
    | { readonly path: string; readonly delimiter?: string };
  readonly writes: Destination;
  readonly mode: WriteMode;
  readonly key: readonly string[];
  readonly cursor: Cursor | undefined;
  /**
   * Why the other tool may have written into another place than this one: what it wrote is not there
   * then, so its position is of no use.
   */
  readonly elsewhere?: string | undefined;
}

export interface ImportedMove {
  readonly name: string;
  readonly from: ImportedSystem;
  readonly to: ImportedSystem;
  readonly streams: readonly ImportedStream[];
  /** Five fields of cron. */
  readonly cron: string | undefined;
  /** Everything that was not carried over, each with what to do. */
  readonly notes: readonly string[];
}
