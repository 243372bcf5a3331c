/**
 * What servers need that work on one queue. Times are those of the database: the clocks of the
 * machines may differ.
 */
import type { RunPriority } from '../wire/run-priority.ts';
import type { ShardProgress } from '../wire/shards.ts';
import type { AdoptedRun, History, Instance, RunEnding, RunFence, StoredRun } from './history.ts';
import type { CancelledShards, EndOfShard, NewShard } from './shards.ts';

/** A run that is ours until its lease ends, or until somebody takes it over after that. */
export interface ClaimedRun extends AdoptedRun {
  /** How often the run was claimed, this time included: tells its executions apart. */
  readonly claim: number;
  /** When the run began, of which it is a shard. */
  readonly runStartedAt?: string;
}

/** What executions of a run have done behind which the next one goes on. */
export type DoneSoFar = Pick<StoredRun, 'records_written' | 'invocations'>;

/** Runs that one claim takes at most. */
export const MOST_CLAIMED = 16;

export interface ClaimRequest {
  readonly owner: string;
  readonly leaseMs: number;
  readonly limit: number;
  /** The pipelines of a priority take turns: begins with the one behind this name. */
  readonly behind: Readonly<Partial<Record<RunPriority, string>>>;
  /** None of a lower priority. */
  readonly atLeast?: RunPriority | undefined;
}

/** A run that this instance executes. */
export interface HeldLease {
  readonly run_id: string;
  readonly attempt: number;
  readonly cancel_requested: boolean;
  /** False: something else was changing the run, and was not waited for. */
  readonly isExtended: boolean;
}

export interface Heartbeat {
  readonly leases: readonly HeldLease[];
  /** Instances of the cluster that live, this one included. */
  readonly instances: number;
  /** A run has been in the queue for longer than it takes to claim one. */
  readonly isWaiting: boolean;
}

export interface ReclaimRequest {
  /** A run that was lost after so many requeues fails. */
  readonly maxAttempts: number;
  /** What the record of such a run says. */
  readonly error: string;
}

export interface Reclaimed {
  readonly requeued: readonly string[];
  readonly failed: readonly string[];
  /** The same of shards. */
  readonly shards: { readonly requeued: readonly string[]; readonly failed: readonly string[] };
}

export interface Member extends Instance {
  readonly isAlive: boolean;
  readonly isClustered: boolean;
}

/** What becomes of runs that servers execute in shards. */
export interface ShardStore {
  /** Puts the shards of a run into the queue in place of the run. False when the fence is stale. */
  splitRun(fence: RunFence, shards: readonly NewShard[]): Promise<boolean>;
  /**
   * Takes shards that no server holds, of runs of a higher priority first, then of the oldest, and
   * starts them.
   */
  claimShards(request: Omit<ClaimRequest, 'behind'>): Promise<readonly ClaimedRun[]>;
  /** Of the shards that no server holds, the highest first. */
  waitingPriorities(): Promise<readonly RunPriority[]>;
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

export interface ClusterStore {
  /**
   * Takes queued runs that no server holds and starts them; one whose end was asked for stays
   * queued, for its new owner to end it. Those of a higher priority come first, and of one pipeline
   * the oldest. Each run goes to one server only.
   */
  claimRuns(request: ClaimRequest): Promise<readonly ClaimedRun[]>;
  /** One run, if it is queued and no server holds it; it is not started. */
  claimQueued(
    runId: string,
    request: Pick<ClaimRequest, 'owner' | 'leaseMs'>,
  ): Promise<ClaimedRun | undefined>;
  /** Gives a run back to the queue. False when the fence is stale or the run has ended. */
  releaseRun(fence: RunFence, done: DoneSoFar): Promise<boolean>;
  /** Says that the instance lives, and extends the leases of its runs. */
  beat(self: Instance, leaseMs: number): Promise<Heartbeat>;
  /**
   * The same for when that is not answered, because an answer to something else was lost: on a
   * connection of its own, and without waiting for what others have locked.
   */
  beatAside(self: Instance, leaseMs: number, waitMs: number): Promise<Heartbeat>;
  /** Ends the leases of an instance that is known to be gone. */
  expire(instanceId: string): Promise<void>;
  /** Puts runs whose lease has ended into the queue again, or fails them. */
  reclaim(request: ReclaimRequest): Promise<Reclaimed>;
  /** Puts queued runs into the common queue whose server, which worked alone, is gone. */
  adoptWaiting(): Promise<readonly string[]>;
  /** By id; those that have been silent for long too. */
  members(): Promise<readonly Member[]>;
  readonly shards: ShardStore;
  /** Tells all instances, this one too. Lost while an instance has no connection. */
  announce(news: string): Promise<void>;
  /** Hears what is announced, until the signal fires. Connects again by itself. */
  listen(hear: (news: string) => void, signal: AbortSignal): Promise<void>;
}

export interface OpenedHistory extends History {
  /** Undefined: servers cannot share one queue on it. */
  readonly cluster: ClusterStore | undefined;
}
