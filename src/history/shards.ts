/** Runs that several servers execute together, each of them some shards. */
import type { ClaimedRun, ClaimRequest } from './cluster.ts';
import type { RunEnding, RunFence, StoredRun } from './history.ts';
import type { Shard, ShardProgress } from '../wire/shards.ts';

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

export interface ShardStore {
  /** Puts the shards of a run into the queue in place of the run. False when the fence is stale. */
  splitRun(fence: RunFence, shards: readonly NewShard[]): Promise<boolean>;
  /** Takes shards that no server holds, of the oldest runs first, and starts them. */
  claimShards(
    request: Pick<ClaimRequest, 'owner' | 'leaseMs' | 'limit'>,
  ): Promise<readonly ClaimedRun[]>;
  /** Ends a shard, and with the last one the run: one of those that end shards at once does that. */
  finishShard(fence: RunFence, ending: RunEnding): Promise<EndOfShard>;
  /** Ends shards that nobody has begun, and notes the wish for the others. */
  cancelShards(parentId: string): Promise<CancelledShards>;
  /**
   * Ends runs whose last shard ended without that, because it was given up, and obeys wishes to
   * cancel that were only noted. Nobody is called back for them.
   */
  settleShards(): Promise<readonly CancelledShards[]>;
  /** Of those runs that have shards. */
  shardProgress(parentIds: readonly string[]): Promise<ReadonlyMap<string, ShardProgress>>;
}
