import type { ClusterStore, HeldLease, Heartbeat, Member } from '../../history/cluster.ts';
import type { Instance } from '../../history/history.ts';
import type { CancelledShards } from '../../history/shards.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { mayBeAlive } from '../service/instance.ts';
import type { LiveRun } from '../service/live-run.ts';
import { clusterInstances, runsReclaimed, shardsExecuting, shardsReclaimed } from './metrics.ts';
import { trustedMs } from './trust.ts';

/** A lease is renewed so often while it lasts. */
const RENEWALS = 4;
/** Without an answer by then, it is asked for once more. */
const ASK_AGAIN_MS = 1000;
/** Instances that are gone are looked for so often. */
const ADOPT_EVERY_MS = 30_000;

export interface MembershipOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly store: ClusterStore;
  readonly self: Instance;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly live: ReadonlyMap<string, LiveRun>;
  readonly inFlight: () => number;
  /** Runs or shards were put into the queue. */
  readonly onRequeued: (what: 'runs' | 'shards') => void;
  /** A run has been in the queue for a while. */
  readonly onWaiting: () => void;
  /** A run in shards ended, or its shards have to stop, because of what other servers left. */
  readonly onSettled: (settled: CancelledShards) => void;
}

interface Answer {
  /** The runs that were here when the question was asked. */
  readonly before: readonly LiveRun[];
  /** Others trust this instance until then. */
  readonly trustedUntil: number;
  readonly beat: Heartbeat;
}

/**
 * Says regularly that this instance lives, stops what it may not execute any more, and puts runs of
 * instances that are lost into the queue again.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #stop = new AbortController();
  #instances = 0;
  #others: readonly Member[] = [];
  /** As `clock.elapsedMs()`: until then others trust this instance. */
  #trustedUntil = 0;
  #nextAdoption = 0;
  #over: Promise<void> | undefined;
  #reclaiming: Promise<void> | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Instances that live; 0 before the first heartbeat. */
  get instances(): number {
    return this.#instances;
  }

  /** Other instances that lived at the last heartbeat. */
  get others(): readonly Member[] {
    return this.#others;
  }

  /** A history that does not answer yet is asked again. */
  async begin(): Promise<void> {
    await this.#step();
    await this.#reclaiming;
    this.#over = this.#keep();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#over;
    await this.#reclaiming;
  }

  async #keep(): Promise<void> {
    const { env, leaseMs } = this.#options;
    const { signal } = this.#stop;
    let sleepMs = leaseMs / RENEWALS;
    while (!signal.aborted) {
      await env.clock.sleep(sleepMs, signal);
      if (signal.aborted) return;
      const began = env.clock.elapsedMs();
      await this.#step();
      // One that was answered late has left less of the lease.
      sleepMs = Math.max(0, began + leaseMs / RENEWALS - env.clock.elapsedMs());
    }
  }

  /** Never rejects. */
  async #step(): Promise<void> {
    const { env } = this.#options;
    const { clock } = env;
    const over = new AbortController();
    // A process that was frozen wakes up behind the end of its leases.
    this.#loseTouchIfLate();
    void clock
      .sleep(Math.max(0, this.#trustedUntil - clock.elapsedMs()), over.signal)
      .then(() => this.#loseTouchIfLate());
    try {
      this.#obey(await this.#beat());
      // A heartbeat does not wait for what it takes to look after others.
      this.#reclaiming ??= this.#reclaim().finally(() => (this.#reclaiming = undefined));
    } catch (error) {
      env.log.warn('leases could not be renewed', { error: messageOf(error) });
    }
    over.abort();
  }

  /** Others may take its runs from now on. */
  #loseTouchIfLate(): void {
    const { env, live } = this.#options;
    if (this.#trustedUntil === 0 || env.clock.elapsedMs() < this.#trustedUntil) return;
    this.#trustedUntil = 0;
    this.#instances = 0;
    if (live.size > 0)
      env.log.error(
        'this server lost touch with the cluster: its runs are stopped, others go on with them',
        {
          runs: live.size,
        },
      );
    for (const run of live.values()) run.loseTouch();
  }

  /** The first answer counts: an answer to something else that was lost holds up all that is written. */
  async #beat(): Promise<Answer> {
    const { store, leaseMs } = this.#options;
    const over = new AbortController();
    const first = this.#ask((self) => store.beat(self, leaseMs)).finally(() => over.abort());
    const again = this.#askAgain(first, over.signal);
    return Promise.any([first, again]).catch(() => first);
  }

  /** Asks until it is answered, or the first question is. */
  async #askAgain(first: Promise<Answer>, over: AbortSignal): Promise<Answer> {
    const { env, store, leaseMs } = this.#options;
    const waitMs = Math.min(ASK_AGAIN_MS, leaseMs / RENEWALS);
    for (;;) {
      await env.clock.sleep(waitMs, over);
      if (over.aborted) return first;
      try {
        return await this.#ask((self) => store.beatAside(self, leaseMs, waitMs));
      } catch (error) {
        env.log.debug('a heartbeat was asked for again, in vain', { error: messageOf(error) });
      }
    }
  }

  async #ask(beat: (self: Instance) => Promise<Heartbeat>): Promise<Answer> {
    const { env, self, leaseMs, live, inFlight } = this.#options;
    const before = [...live.values()];
    const trustedUntil = env.clock.elapsedMs() + trustedMs(leaseMs);
    return { before, trustedUntil, beat: await beat({ ...self, in_flight: inFlight() }) };
  }

  #obey({ before, trustedUntil, beat }: Answer): void {
    const { env } = this.#options;
    this.#trustedUntil = trustedUntil;
    this.#instances = beat.instances;
    env.metrics.set(clusterInstances, {}, beat.instances);
    env.metrics.set(shardsExecuting, {}, before.filter(({ isShard }) => isShard).length);
    const leases = new Map(beat.leases.map((lease) => [lease.run_id, lease]));
    for (const run of before) obeyLease(run, leases.get(run.fence.run_id), { trustedUntil, env });
    if (beat.isWaiting) this.#options.onWaiting();
  }

  /** Never rejects. */
  async #reclaim(): Promise<void> {
    try {
      await this.#reclaimLost();
    } catch (error) {
      this.#options.env.log.warn('runs of lost servers could not be looked for', {
        error: messageOf(error),
      });
    }
  }

  async #reclaimLost(): Promise<void> {
    const { env, store, maxAttempts, onRequeued, onSettled } = this.#options;
    await this.#expireDead();
    const error = `the servers that executed the run were lost ${maxAttempts + 1} times: it was reclaimed ${maxAttempts} times and is given up`;
    const { requeued, failed, shards } = await store.reclaim({ maxAttempts, error });
    const adopted = await this.#adopt();
    env.metrics.inc(runsReclaimed, { outcome: 'requeued' }, requeued.length);
    env.metrics.inc(runsReclaimed, { outcome: 'failed' }, failed.length);
    env.metrics.inc(shardsReclaimed, { outcome: 'requeued' }, shards.requeued.length);
    env.metrics.inc(shardsReclaimed, { outcome: 'failed' }, shards.failed.length);
    for (const run_id of [...requeued, ...shards.requeued])
      env.log.warn('a run of a server that was lost is in the queue again', { run_id });
    for (const run_id of [...failed, ...shards.failed])
      env.log.error('a run was given up: its servers were lost too often', { run_id });
    if (requeued.length + adopted.length > 0) onRequeued('runs');
    if (shards.requeued.length > 0) onRequeued('shards');
    for (const settled of await store.shards.settleShards()) onSettled(settled);
  }

  /** Processes of this machine need not be waited for. */
  async #expireDead(): Promise<void> {
    const { store, self } = this.#options;
    const others = (await store.members()).filter(
      ({ instance_id }) => instance_id !== self.instance_id,
    );
    const dead = others.filter((member) => member.host === self.host && !mayBeAlive(member));
    for (const { instance_id } of dead) await store.expire(instance_id);
    this.#others = others.filter(
      (member) => member.isAlive && member.isClustered && !dead.includes(member),
    );
  }

  async #adopt(): Promise<readonly string[]> {
    const { env, store } = this.#options;
    if (env.clock.elapsedMs() < this.#nextAdoption) return [];
    this.#nextAdoption = env.clock.elapsedMs() + ADOPT_EVERY_MS;
    return store.adoptWaiting();
  }
}

function obeyLease(
  run: LiveRun,
  lease: HeldLease | undefined,
  { trustedUntil, env }: Pick<Answer, 'trustedUntil'> & Pick<MembershipOptions, 'env'>,
): void {
  const { run_id, attempt } = run.fence;
  if (lease?.attempt === attempt) {
    if (lease.cancel_requested) run.stop('cancel');
    if (lease.isExtended) run.trust(trustedUntil);
    else if (!run.isOwned && !run.closing) {
      env.log.error('a run is stopped: its lease could not be extended in time', { run_id });
      run.loseTouch();
    }
  } else if (!run.closing) {
    env.log.warn('a run is stopped: another server took it over, or it has ended', { run_id });
    run.lose();
  }
}
