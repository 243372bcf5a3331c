import { MOST_CLAIMED, type ClaimedRun, type ClusterStore } from '../../history/cluster.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { priorityOf, type RunPriority } from '../../wire/run-priority.ts';
import { runsClaimed, shardsClaimed } from './metrics.ts';
import { trustedMs } from './trust.ts';

/** The others get their part of a run. */
const SHARDS_AT_ONCE = 2;
/** Others may have been taking the runs that this instance looked at. */
const AGAIN_MS = 25;
/** Others that were told look until nothing is left: they need not be told of each run. */
const TELL_EVERY_MS = 50;
/** Waking up is no error; one made for each run would cost more than all else that is done here. */
const LOOK = new Error('there may be runs');

export interface ClaimLoopOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly store: ClusterStore;
  readonly owner: string;
  readonly leaseMs: number;
  /** Looks by itself so often: what is announced may be lost. */
  readonly pollMs: number;
  /** Runs that could begin here now. */
  readonly free: () => number;
  /** Runs beyond these that begin here soon: they may be claimed as well where many wait. */
  readonly ahead: () => number;
  /** With the time, as `clock.elapsedMs()`, until which no other server takes the run over. */
  readonly onClaimed: (run: ClaimedRun, trustedUntil: number) => void;
  /** There are runs for which this instance has no free slot. Never rejects. */
  readonly tellOthers: () => Promise<void>;
}

/** Takes runs from the common queue, as many as there are free slots and some more where many wait. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #stop = new AbortController();
  #wake = new AbortController();
  /** To look now. */
  #isWanted = true;
  /** There may be runs: nobody has seen the queue empty since the last one was announced. */
  #mayBeRuns = true;
  /** The last look found as many runs as were asked for: no other server took what was left. */
  #areMany = false;
  /** There may be shards: most of the time there are none, and nobody asks. */
  #wantsShards = true;
  /** Runs were put into the queue here, and others were not told of them. */
  #hasNews = false;
  /** Of each priority the pipeline that had the last turn. */
  readonly #behind: Partial<Record<RunPriority, string>> = {};
  /** As `clock.elapsedMs()`. */
  #toldAt = Number.NEGATIVE_INFINITY;
  #isTelling = false;
  #told: Promise<unknown> = Promise.resolve();
  #over: Promise<void> | undefined;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#over = this.#work();
  }

  /** There may be runs to claim. */
  look(): void {
    this.noteRuns();
    this.#lookNow();
  }

  /** The same, but there is no hurry: others look at once. */
  noteRuns(): void {
    this.#mayBeRuns = true;
  }

  /** There may be shards to claim. */
  lookForShards(): void {
    this.#wantsShards = true;
    this.#lookNow();
  }

  /** A slot is free. */
  useRoom(): void {
    if (this.#mayBeRuns || this.#wantsShards) this.#lookNow();
  }

  #lookNow(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#wake.abort(LOOK);
  }

  /** This instance put something into the queue. */
  offer(): void {
    this.#hasNews = true;
    this.look();
  }

  /** Claims nothing any more; resolves when what was claimed has been taken. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake.abort();
    await this.#over;
    await this.#told;
  }

  async #work(): Promise<void> {
    const { env, pollMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      if (!this.#isWanted) await env.clock.sleep(pollMs, this.#wake.signal);
      if (!this.#isWanted) this.#mayBeRuns = this.#wantsShards = true;
      if (this.#stop.signal.aborted) return;
      this.#isWanted = false;
      this.#wake = new AbortController();
      await this.#claim().catch((error: unknown) => {
        env.log.warn('runs could not be claimed', { error: messageOf(error) });
      });
    }
  }

  /** Of the shards that wait, the highest first; asks nobody while it is known that none do. */
  async #waitingShards(): Promise<readonly RunPriority[]> {
    if (!this.#wantsShards) return [];
    this.#wantsShards = false;
    try {
      const priorities = await this.#options.store.shards.waitingPriorities();
      this.#wantsShards = priorities.length > 0;
      return priorities;
    } catch (error) {
      this.#wantsShards = true;
      throw error;
    }
  }

  async #claimShards(limit: number, atLeast: RunPriority): Promise<readonly ClaimedRun[]> {
    const { env, store, owner, leaseMs } = this.#options;
    const claimed = await store.shards.claimShards({ owner, leaseMs, limit, atLeast });
    env.metrics.inc(shardsClaimed, {}, claimed.length);
    return claimed;
  }

  /** Asks nobody while it is known that there are none. */
  async #claimRuns(limit: number, atLeast?: RunPriority): Promise<readonly ClaimedRun[]> {
    const { env, store, owner, leaseMs } = this.#options;
    if (!this.#mayBeRuns || limit <= 0) return [];
    this.#mayBeRuns = false;
    try {
      const behind = this.#behind;
      const claimed = await store.claimRuns({ owner, leaseMs, limit, behind, atLeast });
      // Fewer than were asked for: the others are being taken.
      this.#areMany = claimed.length === limit;
      if (this.#areMany || atLeast !== undefined) this.#mayBeRuns = true;
      for (const { run } of claimed) this.#behind[priorityOf(run)] = run.name ?? '';
      env.metrics.inc(runsClaimed, {}, claimed.length);
      return claimed;
    } catch (error) {
      this.#mayBeRuns = true;
      throw error;
    }
  }

  async #claim(): Promise<void> {
    const { env, leaseMs, free, ahead, onClaimed } = this.#options;
    const slots = free();
    const trustedUntil = env.clock.elapsedMs() + trustedMs(leaseMs);
    const limit = Math.min(slots + (this.#areMany ? ahead() : 0), MOST_CLAIMED);
    let claimed = 0;
    let shards = 0;
    let areShardsLeft = false;
    const enter = (some: readonly ClaimedRun[]): number => {
      for (const one of some) onClaimed(one, trustedUntil);
      return some.length;
    };
    for (const priority of limit > 0 ? await this.#waitingShards() : []) {
      claimed += enter(await this.#claimRuns(limit - claimed - shards, priority));
      const most = Math.min(slots - claimed - shards, SHARDS_AT_ONCE - shards);
      const taken = most > 0 ? enter(await this.#claimShards(most, priority)) : 0;
      shards += taken;
      areShardsLeft = taken >= most;
      if (areShardsLeft) break;
    }
    // Runs of a lower priority come behind shards that are left.
    if (!areShardsLeft) claimed += enter(await this.#claimRuns(limit - claimed - shards));
    if (free() > 0 && (this.#mayBeRuns || shards > 0)) this.#isWanted = true;
    if (!this.#hasNews) return;
    this.#hasNews = false;
    if (free() === 0) {
      if (this.#mayBeRuns) this.#tellSoon();
    } else if (claimed === 0) {
      // Nothing is left, or others hold it at this moment.
      await env.clock.sleep(AGAIN_MS, this.#stop.signal);
      this.look();
    }
  }

  #tellSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    const { clock } = this.#options.env;
    const told = this.#tell(this.#toldAt + TELL_EVERY_MS - clock.elapsedMs());
    this.#told = Promise.all([this.#told, told]);
  }

  async #tell(waitMs: number): Promise<void> {
    const { env, tellOthers } = this.#options;
    if (waitMs > 0) await env.clock.sleep(waitMs, this.#stop.signal);
    // What is put into the queue from now on is told again.
    this.#isTelling = false;
    this.#toldAt = env.clock.elapsedMs();
    await tellOthers();
  }
}
