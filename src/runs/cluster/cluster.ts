/** One server of several that share a queue: what it claims, renews, hears and tells. */
import type { ClusterStore, DoneSoFar } from '../../history/cluster.ts';
import type { Instance, RunEnding, RunFence, StoredRun } from '../../history/history.ts';
import type { CancelledShards } from '../../history/shards.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { ClusterMember, ClusterStatus } from '../../wire/cluster.ts';
import type { Shard } from '../../wire/shards.ts';
import type { LiveRuns } from '../service/live-runs.ts';
import { ClaimLoop } from './claim-loop.ts';
import { refuseMixture } from './mixture.ts';
import { Membership } from './membership.ts';
import { clusterEnabled } from './metrics.ts';
import { askedToLook, newsOfRuns, RUNS, SHARDS } from './news.ts';
import { trustedMs } from './trust.ts';

export interface ClusterSettings {
  readonly store: ClusterStore;
  readonly pollSecs: number;
  readonly leaseMs: number;
  /** How often a run that was lost with its server is tried again. */
  readonly maxAttempts: number;
  /** A shutdown gives runs to other servers at their next page, and does not wait for their end. */
  readonly handsOver: boolean;
}

export interface ClusterOptions extends ClusterSettings {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'metrics'>;
  readonly self: Instance;
  readonly live: LiveRuns;
  /** A run ended with its last shard; `calls`: its callback is due. */
  readonly onEnded: (run: StoredRun, calls: boolean) => void;
}

const CANCEL = 'cancel ';

export class Cluster {
  readonly #options: ClusterOptions;
  readonly #claims: ClaimLoop;
  readonly #membership: Membership;
  readonly #stop = new AbortController();
  /** What is done when another server tells something that is not about runs. */
  readonly #hearers = new Map<string, (detail: string) => void>();
  /** Runs were told so often. */
  #turn = 0;
  #listening: Promise<void> | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
    const { env, store, self, live, pollSecs, leaseMs, maxAttempts } = options;
    this.#claims = new ClaimLoop({
      env,
      store,
      owner: self.instance_id,
      leaseMs,
      pollMs: pollSecs * 1000,
      free: () => (this.#membership.instances === 0 ? 0 : live.free),
      ahead: () => (this.#membership.instances === 0 ? 0 : live.ahead),
      onClaimed: (run, trustedUntil) => void live.enterClaimed(run, trustedUntil),
      tellOthers: () => this.#tell(newsOfRuns(this.#membership.others, this.#turn++)),
    });
    this.#membership = new Membership({
      env,
      store,
      self,
      leaseMs,
      maxAttempts,
      live: live.all,
      inFlight: () => live.inFlight,
      onRequeued: (what) => (what === 'runs' ? this.#claims.offer() : this.#offerShards()),
      onWaiting: () => this.#claims.look(),
      onSettled: (settled) => this.#obeyCancelled(settled, false),
    });
    env.metrics.set(clusterEnabled, {}, 1);
  }

  /** Servers that live, this one included; 0 before the first heartbeat and without touch. */
  get instances(): number {
    return this.#membership.instances;
  }

  /** A run was submitted here. */
  offer(): void {
    this.#claims.offer();
  }

  /** A slot is free. */
  useRoom(): void {
    this.#claims.useRoom();
  }

  /** Rejects when a server that works alone uses the same history. */
  async begin(): Promise<void> {
    const { store, self, env } = this.#options;
    await refuseMixture(store, { env, self, isClustered: true });
    await this.#membership.begin();
    this.#claims.begin();
    this.#listening = store.listen((news) => this.#hear(news), this.#stop.signal);
  }

  /** Claims nothing any more. */
  async stopClaiming(): Promise<void> {
    await this.#claims.close();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#claims.close(), this.#membership.close(), this.#listening]);
  }

  /** Takes a run that nobody executes, to end it. False when somebody does, or it has ended. */
  async takeQueued(runId: string): Promise<boolean> {
    const { env, store, self, live, leaseMs } = this.#options;
    const trustedUntil = env.clock.elapsedMs() + trustedMs(leaseMs);
    const claimed = await store.claimQueued(runId, { owner: self.instance_id, leaseMs });
    if (claimed !== undefined) await live.enterClaimed(claimed, trustedUntil);
    return claimed !== undefined;
  }

  /** Gives a run back to the queue. False when it is not ours any more. */
  async release(fence: RunFence, done: DoneSoFar): Promise<boolean> {
    const isReleased = await this.#options.store.releaseRun(fence, done);
    if (isReleased) for (const news of [RUNS, SHARDS]) void this.#tell(news);
    return isReleased;
  }

  /** Puts the shards of a run into the queue. False when the run is not ours any more. */
  async split(fence: RunFence, shards: readonly Shard[]): Promise<boolean> {
    const { store, env } = this.#options;
    const rows = shards.map((shard) => ({ run_id: env.ids.next(), shard }));
    const isSplit = await store.shards.splitRun(fence, rows);
    if (isSplit) this.#offerShards();
    return isSplit;
  }

  async finishShard(fence: RunFence, ending: RunEnding): Promise<boolean> {
    const { store, onEnded } = this.#options;
    const { isRecorded, ended } = await store.shards.finishShard(fence, ending);
    if (ended !== undefined) onEnded(ended, true);
    return isRecorded;
  }

  /** Does nothing for a run that is not in shards. */
  async cancelShards(runId: string): Promise<void> {
    this.#obeyCancelled(await this.#options.store.shards.cancelShards(runId), true);
  }

  #obeyCancelled({ running, ended }: CancelledShards, calls: boolean): void {
    for (const id of running) {
      this.#options.live.get(id)?.stop('cancel');
      this.tellCancel(id);
    }
    if (ended !== undefined) this.#options.onEnded(ended, calls);
  }

  #offerShards(): void {
    void this.#tell(SHARDS);
    this.#claims.lookForShards();
  }

  /** The server that executes the run obeys at once, and not only with its next heartbeat. */
  tellCancel(runId: string): void {
    void this.#tell(`${CANCEL}${runId}`);
  }

  /** Tells the other servers: a word, and what they have to know beside it. */
  tellOthers(word: string, detail = ''): void {
    void this.#tell(`${word} ${this.#options.self.instance_id} ${detail}`);
  }

  async #tell(news: string): Promise<void> {
    const { store, env } = this.#options;
    try {
      await store.announce(news);
    } catch (error) {
      env.log.warn('other servers were not told', { news, error: messageOf(error) });
    }
  }

  /** What members say of themselves, the first that started first. */
  async status(): Promise<ClusterStatus> {
    const { store, self } = this.#options;
    const members = (await store.members())
      .filter(({ isClustered }) => isClustered)
      .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
      .map((member): ClusterMember => ({
        instance_id: member.instance_id,
        listen: member.listen,
        // Behind it stands what tells its boots apart.
        host: member.host.split(' ')[0] ?? '',
        pid: member.pid,
        started_at: member.started_at,
        seen_at: member.seen_at,
        max_concurrent: member.max_concurrent,
        in_flight: member.in_flight,
        status: member.isAlive ? 'alive' : 'lost',
        is_self: member.instance_id === self.instance_id,
      }));
    const instances = members.filter(({ status }) => status === 'alive').length;
    return { enabled: true, instances, members };
  }

  /** Calls back when another server told this. */
  onNews(word: string, hear: (detail: string) => void): void {
    this.#hearers.set(word, hear);
  }

  #hear(news: string): void {
    const look = askedToLook(news, this.#options.self.instance_id);
    if (look === 'now') this.#claims.look();
    else if (look === 'later') this.#claims.noteRuns();
    else if (news === SHARDS) this.#claims.lookForShards();
    else if (news.startsWith(CANCEL))
      this.#options.live.get(news.slice(CANCEL.length))?.stop('cancel');
    else {
      const [word = '', from = '', ...detail] = news.split(' ');
      if (from !== this.#options.self.instance_id) this.#hearers.get(word)?.(detail.join(' '));
    }
  }
}
