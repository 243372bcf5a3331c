/** The files of one table, on this machine or in a store of objects. Paths are relative to the table. */
import type { PartContext } from '../../kit/context.ts';
import type { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import type { SchemaNode } from '../_files/parquet/parquet-values.ts';
import type { Requesting } from '../_http/run-requests.ts';

export interface ListedFile {
  /** Behind the folder. */
  readonly name: string;
  readonly modified: Date;
}

export interface OpenParquet {
  /** Which of the columns of the file are read; all when absent. */
  readonly columns?: (fields: readonly SchemaNode[]) => readonly string[];
  /** Omit keys whose value is null. */
  readonly omitNulls: boolean;
}

export interface TableFiles {
  /** Of the table, for messages; ends with a `/`. */
  readonly address: string;
  /** Whether its files are on this machine. */
  readonly isLocal: boolean;
  /**
   * The files of a folder, whose path ends with a `/`, in the order of their names: those behind
   * `after` only, and none of folders in it. Empty where there is no such folder.
   */
  list(folder: string, after?: string): Promise<readonly ListedFile[]>;
  /** The paths below a folder of all files in it and in its folders. */
  walk(folder: string): Promise<readonly string[]>;
  /** `undefined` where there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  readParquet(path: string, options: OpenParquet): Promise<ParquetReader>;
  /**
   * Makes a file as a whole, and says whether it did: of several writers that make the same file, one
   * does. The file may be one's own when the answer of a store was lost.
   */
  create(path: string, bytes: Buffer): Promise<boolean>;
  /** Makes or replaces a file. */
  put(path: string, bytes: Buffer): Promise<void>;
  /** Where a Parquet file is to be written that becomes this file when it is delivered. */
  pathToWrite(path: string): Promise<string>;
  /** The file is durable, and others can read it. Gives its size. */
  deliver(path: string): Promise<number>;
  /** Best effort: never throws. */
  remove(path: string): Promise<void>;
  /** Fails where nothing can be written; leaves nothing behind. */
  tryWrite(): Promise<void>;
  /** Never throws. */
  close(): Promise<void>;
}

export type TableContext = PartContext & Requesting;
