/** What is asked of a catalog, whatever keeps it. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { TableMetadata } from '../metadata/table-metadata.ts';
import type { TableUpdate } from '../metadata/updates.ts';
import type { Storage } from '../storage.ts';

export interface TableName {
  readonly namespace: readonly string[];
  readonly table: string;
}

export function nameText({ namespace, table }: TableName): string {
  return [...namespace, table].join('.');
}

/** A table as the catalog knew it when it was asked. */
export interface LoadedTable {
  /** Address of the metadata file. */
  readonly metadataFile: string;
  readonly metadata: TableMetadata;
  /** The files of the table, opened as the catalog says. */
  readonly storage: Storage;
}

export interface NewTable {
  /** With ids from 1; the catalog may give others. */
  readonly schema: JsonObject;
  readonly lastColumnId: number;
  readonly spec: JsonObject;
  readonly properties: Readonly<Record<string, string>>;
}

export interface Catalog {
  /** All tables, in all namespaces. */
  list(): Promise<readonly TableName[]>;
  /** `undefined` where there is no such table. */
  load(name: TableName): Promise<LoadedTable | undefined>;
  /** Makes a table and its namespace; a table that is there in the meantime is that one. */
  create(name: TableName, table: NewTable): Promise<LoadedTable>;
  /**
   * Changes a table that is as `base` says, as a whole, and gives `false` when it is not so any more.
   * Throws `CommitUnknown` when it may or may not have been changed.
   */
  commit(
    name: TableName,
    base: LoadedTable,
    updates: readonly TableUpdate[],
  ): Promise<LoadedTable | false>;
  /** Fails where nothing can be asked. */
  check(): Promise<void>;
  /** Never throws. */
  close(): Promise<void>;
}

/** The answer to a commit was lost. */
export class CommitUnknown extends ConnectorError {}

export function noTable(name: TableName): ConnectorError {
  return new ConnectorError('missing', `the catalog has no table \`${nameText(name)}\``, {
    hint: 'check the namespace and the name; `discover` lists the tables of a catalog',
  });
}
