import type { JsonObject, JsonValue } from '../lib/text/json.ts';

/**
 * How a run is undone: rows are deleted by its id, before-images put back, or the previous table
 * swapped in.
 */
export type UndoMode = 'append' | 'upsert' | 'overwrite';

/**
 * What an open sink knows about undoing. A run is named by its invocation id, which every row it
 * writes carries in a column. Contract: what is needed to undo a page becomes durable in the same
 * unit as the page. `undo` happens as a whole or not at all, and a run that was undone already
 * gives the same result again, without a change.
 */
export interface Undo {
  /**
   * Called before the first write: what is written from now on can be undone. Without it, nothing
   * is kept.
   */
  record(settings: UndoSettings): Promise<void>;
  undo(request: UndoRequest): Promise<UndoResult>;
  /** The result of a run that was undone and not forgotten since. */
  undone(runId: string): Promise<UndoResult | undefined>;
  /** Drops all that is kept for these runs. */
  forget(runIds: readonly string[]): Promise<void>;
}

export interface UndoSettings {
  readonly runId: string;
  readonly mode: UndoMode;
  /** Column that holds the run id. */
  readonly column: string;
}

export interface UndoRequest extends UndoSettings {
  /** The watermark that goes back in the same unit; an absent `token` removes it. */
  readonly watermark?: { readonly scope: string; readonly token: string | undefined };
  /** Only count. */
  readonly dryRun: boolean;
  /** Undo in spite of conflicts. */
  readonly force: boolean;
}

export interface UndoResult {
  /** Whether the destination is now as it was before the run. */
  readonly applied: boolean;
  /** Rows of the run that went. */
  readonly deleted: number;
  /** Rows that are as they were before. */
  readonly restored: number;
  /** Keys or rows that somebody changed after the run. */
  readonly conflicts: number;
}

/** A kept result, as stored by a sink. */
export function undoResultOf(stored: JsonValue): UndoResult {
  const { deleted, restored, conflicts } = stored as JsonObject;
  return {
    applied: true,
    deleted: Number(deleted),
    restored: Number(restored),
    conflicts: Number(conflicts),
  };
}
