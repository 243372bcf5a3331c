/** What a project of another tool moves, in words of no tool: each reader gives this. */
import type { JsonObject } from '../../lib/text/json.ts';

export interface ImportedSystem {
  readonly kind: 'postgres' | 'mysql' | 'mongodb' | 'sqlite' | 'duckdb' | 'files';
  /** Address of the database, or path of its file; may hold `${env:…}`. Empty for files. */
  readonly address: string;
  /** Of MongoDB. */
  readonly database?: string;
}

export type WriteMode = 'append' | 'upsert' | 'overwrite';

/** Where reading goes on. */
export interface Cursor {
  readonly column: string;
  /** How far the other tool has come; undefined where that is not known. */
  readonly value: string | number | undefined;
}

export interface ImportedStream {
  readonly name: string;
  readonly reads:
    | { readonly table: string; readonly columns?: readonly string[]; readonly where?: string }
    | { readonly sql: string }
    | { readonly path: string; readonly delimiter?: string };
  /** A table, or the path of a file. */
  readonly writes: string;
  readonly mode: WriteMode;
  readonly key: readonly string[];
  readonly cursor: Cursor | undefined;
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
  /** Variables that the document reads, each with what it has to hold. */
  readonly variables: Readonly<Record<string, string>>;
}

export interface ImportedDocument {
  readonly name: string;
  readonly document: JsonObject;
  readonly notes: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}
