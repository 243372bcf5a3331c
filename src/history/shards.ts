/** Runs that several servers execute together, each of them some shards. */
import type { StoredRun } from './history.ts';
import type { Shard } from '../wire/shards.ts';

/** Owner of a run whose shards are executed: nobody renews it, and nobody takes it over. */
export const SHARDED = '/sharded';
/** Owner of a shard that any server may take. */
export const UNCLAIMED_SHARD = '/shard';

export interface NewShard {
  /** Of the row that stands for it. */
  readonly run_id: string;
  readonly shard: Shard;
}

export interface EndOfShard {
  /** False when the fence is stale or the shard has ended. */
  readonly isRecorded: boolean;
  /** The whole run, when this was its last shard. */
  readonly ended?: StoredRun | undefined;
}

export interface CancelledShards {
  /** Those that execute; their servers have to be told. */
  readonly running: readonly string[];
  readonly ended?: StoredRun | undefined;
}
