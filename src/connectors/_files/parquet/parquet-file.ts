import type { Columns } from '../../../kit/columns.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';

export const PARQUET_CODECS = ['snappy', 'uncompressed', 'gzip', 'zstd', 'lz4'] as const;
export type ParquetCodec = (typeof PARQUET_CODECS)[number];

export interface ParquetOutputOptions {
  /** The name of the file when it is complete. */
  readonly path: string;
  readonly columns: ReadonlyMap<string, ColumnKind>;
  readonly codec: ParquetCodec;
  readonly rowGroupSize: number;
  /** Ids of fields by their paths in the file (`pathOf`), for formats of tables that go by them. */
  readonly fieldIds?: ReadonlyMap<string, number> | undefined;
  /** Called once for each field that no column can hold. */
  readonly onDropped: (field: string) => void;
}

/** A Parquet file that is being written. */
export interface ParquetFile {
  readonly rows: number;
  /** Estimated size of the values accepted so far. */
  readonly bytes: number;
  /** Adds all records or, when one does not fit, none. */
  add(records: readonly JsonObject[]): Promise<void>;
  /**
   * Adds rows without making records, up to the first one that does not fit; returns how many. The
   * caller adds the others as records.
   */
  addColumns?(columns: Columns): Promise<number>;
  /** Writes the remaining rows and the footer, and renames the file to its final name. */
  finish(): Promise<void>;
  /** Removes all files. Never throws. */
  discard(): Promise<void>;
}
