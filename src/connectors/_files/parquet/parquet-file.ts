import type { Columns } from '../../../kit/columns.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { ColumnKind } from './parquet-types.ts';

export const PARQUET_CODECS = ['snappy', 'uncompressed', 'gzip', 'zstd', 'lz4'] as const;
export type ParquetCodec = (typeof PARQUET_CODECS)[number];

export interface ParquetOutputOptions {
  /** The name the file gets when it is whole. */
  readonly path: string;
  readonly columns: ReadonlyMap<string, ColumnKind>;
  readonly codec: ParquetCodec;
  readonly rowGroupSize: number;
  /** Told once about each field that no column takes. */
  readonly onDropped: (field: string) => void;
}

/** One Parquet file being written. */
export interface ParquetFile {
  readonly rows: number;
  /** Estimated size of the values taken so far. */
  readonly bytes: number;
  /** Takes all of the records or, when one does not fit, none. */
  add(records: readonly JsonObject[]): Promise<void>;
  /**
   * Takes rows as they are, up to the first that it cannot; says how many. The others are added as
   * records.
   */
  addColumns?(columns: Columns): Promise<number>;
  /** Writes what is left and the footer, and gives the file its name. */
  finish(): Promise<void>;
  /** Leaves nothing behind. Never throws. */
  discard(): Promise<void>;
}
