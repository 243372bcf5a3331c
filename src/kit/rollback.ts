import type { JsonObject, JsonValue } from '../lib/text/json.ts';

/**
 * How a run is rolled back: its rows are deleted by the id of the run, previous values are
 * restored, or the previous table is swapped in.
 */
export type RollbackMode = 'append' | 'upsert' | 'overwrite';

/**
 * What an open sink offers to roll back runs. A run is identified by its invocation id, which every
 * row it writes has in a column. Contract: the data needed to roll a page back becomes durable in
 * the same transaction as the page. `apply` does all or nothing; for a run that was already rolled
 * back it returns the same result again and changes nothing.
 */
export interface SinkRollback {
  /**
   * Called before the first write: everything written afterwards can be rolled back. Without this
   * call nothing is kept.
   */
  record(settings: RollbackSettings): Promise<void>;
  apply(request: SinkRollbackRequest): Promise<SinkRollbackResult>;
  /** The result for a run that was rolled back and not forgotten since. */
  applied(runId: string): Promise<SinkRollbackResult | undefined>;
  /** Deletes everything kept for these runs. */
  forget(runIds: readonly string[]): Promise<void>;
}

export interface RollbackSettings {
  readonly runId: string;
  readonly mode: RollbackMode;
  /** Column that holds the run id. */
  readonly column: string;
}

export interface SinkRollbackRequest extends RollbackSettings {
  /** The watermark to go back to in the same transaction; an absent `token` removes it. */
  readonly watermark?: { readonly scope: string; readonly token: string | undefined };
  /** Only count what would change. */
  readonly dryRun: boolean;
  /** Roll back in spite of conflicts. */
  readonly force: boolean;
}

export interface SinkRollbackResult {
  /** Whether the destination is now as it was before the run. */
  readonly applied: boolean;
  /** Rows of the run that were removed. */
  readonly deleted: number;
  /** Rows that have their previous values again. */
  readonly restored: number;
  /** Keys or rows that were changed after the run. */
  readonly conflicts: number;
}

/** A result as a sink stored it. */
export function rollbackResultOf(stored: JsonValue): SinkRollbackResult {
  const { deleted, restored, conflicts } = stored as JsonObject;
  return {
    applied: true,
    deleted: Number(deleted),
    restored: Number(restored),
    conflicts: Number(conflicts),
  };
}
