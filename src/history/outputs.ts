/** The ledger of files that sinks wrote on this machine, as plain data. */
import type { RunFence } from './run-fence.ts';

export interface StoredOutput {
  /** The first 16 hex digits of the SHA-256 of the path. */
  readonly id: string;
  /** Absolute. */
  readonly path: string;
  readonly dataset_uri: string;
  readonly dataset_id: string;
  readonly kind: string;
  readonly pipeline: string;
  readonly row: string;
  readonly run_id: string;
  /** Of the first write, and of the first one after it was deleted: it stays as it was then. */
  readonly pre_existing: boolean;
  /** What was there before was truncated. */
  readonly replaced: boolean;
  readonly retention_days: number | null;
  readonly first_written_at: string;
  readonly last_written_at: string;
  readonly deleted_at: string | null;
  readonly deleted_bytes: number | null;
}

export interface OutputQuery {
  readonly ids?: readonly string[];
  readonly dataset_id?: string;
  readonly pipeline?: string;
  readonly run_id?: string;
  /** Also those that were deleted. */
  readonly include_deleted: boolean;
  readonly limit?: number;
}

export interface OutputStore {
  /**
   * Records writes. A known file keeps the time of its first write and whether it existed before.
   * After a deletion both are taken from the new write. False when the run is not that of `by` any
   * more: nothing was changed then.
   */
  putOutputs(outputs: readonly StoredOutput[], by?: RunFence): Promise<boolean>;
  /** Newest write first, then by id. */
  listOutputs(query: OutputQuery): Promise<readonly StoredOutput[]>;
  /**
   * False when the file was written again since `last_written_at`, or is not known: nothing was
   * changed then.
   */
  markDeleted(
    id: string,
    last_written_at: string,
    deleted: { readonly at: string; readonly bytes: number },
  ): Promise<boolean>;
  /** Removes files from the ledger. */
  forgetOutputs(ids: readonly string[]): Promise<void>;
}
