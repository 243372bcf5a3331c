import type { ClaimedRun, ClusterStore } from '../../history/cluster.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { runsClaimed, shardsClaimed } from './metrics.ts';
import { trustedMs } from './trust.ts';

/** What is announced when there are runs to claim. */
export const RUNS = 'runs';
/** What is announced when there are shards to claim. */
export const SHARDS = 'shards';
/** The others get their part of a run. */
const SHARDS_AT_ONCE = 2;
/** Others may have been taking the runs that this instance looked at. */
const AGAIN_MS = 25;

export interface ClaimLoopOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly store: ClusterStore;
  readonly owner: string;
  readonly leaseMs: number;
  /** Looks by itself so often: what is announced may be lost. */
  readonly pollMs: number;
  /** Runs that could begin here now. */
  readonly free: () => number;
  /** With the time, as `clock.elapsedMs()`, until which no other server takes the run over. */
  readonly onClaimed: (run: ClaimedRun, trustedUntil: number) => void;
}

/** Takes runs from the common queue, as many as there are free slots. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #isWanted = true;
  /** There may be shards: most of the time there are none, and nobody asks. */
  #wantsShards = true;
  /** Runs were put into the queue here, and others were not told of them. */
  #hasNews = false;
  /** The pipeline that had the last turn. */
  #behind = '';
  #over: Promise<void> | undefined;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#over = this.#work();
  }

  /** There may be something to claim. */
  look(): void {
    this.#isWanted = true;
    this.#wake.abort();
  }

  /** There may be shards to claim. */
  lookForShards(): void {
    this.#wantsShards = true;
    this.look();
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
  }

  async #work(): Promise<void> {
    const { env, pollMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      if (!this.#isWanted) await env.clock.sleep(pollMs, this.#wake.signal);
      if (!this.#isWanted) this.#wantsShards = true;
      if (this.#stop.signal.aborted) return;
      this.#isWanted = false;
      this.#wake = new AbortController();
      await this.#claim().catch((error: unknown) => {
        env.log.warn('runs could not be claimed', { error: messageOf(error) });
      });
    }
  }

  /** Those of runs are taken first. */
  async #claimShards(limit: number): Promise<readonly ClaimedRun[]> {
    const { env, store, owner, leaseMs } = this.#options;
    if (!this.#wantsShards || limit <= 0) return [];
    this.#wantsShards = false;
    const most = Math.min(limit, SHARDS_AT_ONCE);
    const claimed = await store.shards.claimShards({ owner, leaseMs, limit: most });
    if (claimed.length > 0) this.#wantsShards = true;
    env.metrics.inc(shardsClaimed, {}, claimed.length);
    return claimed;
  }

  async #claim(): Promise<void> {
    const { env, store, owner, leaseMs, free, onClaimed } = this.#options;
    const limit = free();
    const behind = this.#behind;
    const trustedUntil = env.clock.elapsedMs() + trustedMs(leaseMs);
    const claimed = limit === 0 ? [] : await store.claimRuns({ owner, leaseMs, limit, behind });
    for (const one of claimed) onClaimed(one, trustedUntil);
    env.metrics.inc(runsClaimed, {}, claimed.length);
    const last = claimed.at(-1);
    if (last !== undefined) this.#behind = last.run.name ?? '';
    const shards = await this.#claimShards(limit - claimed.length);
    for (const one of shards) onClaimed(one, trustedUntil);
    if (last !== undefined || shards.length > 0) this.#isWanted = true;
    if (this.#hasNews && free() === 0) {
      this.#hasNews = false;
      await store.announce(RUNS);
    } else if (this.#hasNews && last === undefined) {
      // Nothing is left, or others hold it at this moment.
      this.#hasNews = false;
      await env.clock.sleep(AGAIN_MS, this.#stop.signal);
      this.#isWanted = true;
    }
  }
}
