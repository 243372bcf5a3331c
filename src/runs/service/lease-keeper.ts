import type { History, Instance } from '../../history/history.ts';
import { SHARDED } from '../../history/shards.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { HistoryHealth } from './history-health.ts';
import type { LiveRun } from './live-run.ts';
import { recoverOrphans } from './recovery.ts';

export interface LeaseKeeperOptions {
  readonly env: Pick<Env, 'clock' | 'log'>;
  readonly history: History;
  readonly health: HistoryHealth;
  readonly self: Instance;
  readonly ttlSecs: number;
  readonly live: ReadonlyMap<string, LiveRun>;
  readonly inFlight: () => number;
  /** Takes over queued runs of servers that are gone. */
  readonly adopt: () => Promise<void>;
}

/**
 * Says regularly that this instance lives, obeys wishes other instances took, fails what dead
 * instances had begun, and takes over what they had not.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  /** As `clock.elapsedMs()`: until then no other server is taken for dead. */
  #trustsLeasesFrom = 0;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** A history that does not answer yet is asked again by `keep`. */
  async begin(): Promise<void> {
    const { health } = this.#options;
    try {
      await this.#beat();
      await this.#failSharded();
      await this.#recover();
    } catch (error) {
      if (await health.probe()) throw error;
      this.#distrustLeases(error);
    }
  }

  /** What servers of a cluster had begun in shards goes on nowhere. */
  async #failSharded(): Promise<void> {
    const { env, history } = this.#options;
    const error = 'the servers of a cluster that executed its shards are gone';
    await history.failRunsOf(SHARDED, env.clock.now().toISOString(), error);
  }

  async keep(signal: AbortSignal): Promise<void> {
    const { env, ttlSecs, health } = this.#options;
    const periodMs = Math.max(1000, (ttlSecs * 1000) / 3);
    for (;;) {
      await env.clock.sleep(periodMs, signal);
      if (signal.aborted) return;
      try {
        await this.#beat();
        await this.#renew();
        if (env.clock.elapsedMs() >= this.#trustsLeasesFrom) await this.#recover();
      } catch (error) {
        this.#distrustLeases(error);
      }
      await health.probe();
    }
  }

  /** Others could not renew theirs either: they get the time to do so when the store is back. */
  #distrustLeases(error: unknown): void {
    const { env, ttlSecs } = this.#options;
    this.#trustsLeasesFrom = env.clock.elapsedMs() + ttlSecs * 1000;
    env.log.warn('leases could not be renewed', { error: messageOf(error) });
  }

  async #beat(): Promise<void> {
    const { env, history, self, inFlight } = this.#options;
    await history.putInstance({
      ...self,
      seen_at: env.clock.now().toISOString(),
      in_flight: inFlight(),
    });
  }

  async #renew(): Promise<void> {
    const { env, history, self, ttlSecs, live } = this.#options;
    const before = [...live.values()];
    const until = new Date(env.clock.now().getTime() + ttlSecs * 1000).toISOString();
    const renewed = new Map(
      (await history.renewLeases(self.instance_id, until)).map((lease) => [
        lease.run_id,
        lease.cancel_requested,
      ]),
    );
    for (const run of before) {
      const cancelRequested = renewed.get(run.fence.run_id);
      if (cancelRequested === true) run.stop('cancel');
      if (cancelRequested !== undefined || run.closing) continue;
      env.log.warn('a run is stopped: its record belongs to somebody else or has ended', {
        run_id: run.fence.run_id,
      });
      run.stop('shutdown');
    }
  }

  async #recover(): Promise<void> {
    const { env, history, self, adopt } = this.#options;
    await recoverOrphans(history, { env, self });
    await adopt();
  }
}
