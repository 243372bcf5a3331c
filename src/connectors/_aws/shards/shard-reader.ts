/**
 * Records of the shards of a stream from given positions on. Each shard is asked for more from time
 * to time; one that came from others begins when those have ended.
 */
import type { SourceContext } from '../../../kit/context.ts';
import type { Shard, ShardClient, ShardPage, ShardPosition, ShardRecord } from './shard.ts';
import type { StartedShard } from './start.ts';

interface ShardState {
  readonly shard: Shard;
  /** Behind the last record that was fetched, and the last that was taken, and the one before. */
  fetched: ShardPosition;
  taken: ShardPosition;
  before: ShardPosition;
  iterator: string | undefined;
  /** Records that were fetched and not taken. */
  waiting: number;
  hasEnded: boolean;
  behindMs: number | undefined;
  /** Whether its last answer had no records, and said that there are none. */
  isQuiet: boolean;
  /** When it is asked again, in milliseconds of the clock. */
  dueMs: number;
}

export interface TakenRecord<R> extends ShardRecord<R> {
  readonly shard: string;
}

export interface ShardReaderOptions<R> {
  readonly client: ShardClient<R>;
  readonly context: Pick<SourceContext, 'env' | 'signal'>;
  /** Between two requests for a shard that has no more at the moment. */
  readonly pollMs: number;
  /** Shards that are asked at the same time. */
  readonly atOnce: number;
  /** Whether shards that come while it reads are read too. */
  readonly follows: boolean;
}

/** A shard answers five requests a second. */
const LEAST_POLL_MS = 200;

export class ShardReader<R> {
  readonly #options: ShardReaderOptions<R>;
  readonly #states = new Map<string, ShardState>();
  readonly #asking = new Map<string, { readonly work: Promise<void>; readonly sinceMs: number }>();
  readonly #failing = new Set<string>();
  #records: TakenRecord<R>[] = [];
  #at = 0;
  #failure: { readonly error: unknown } | undefined;
  /** When the shards are listed again: after one has ended. */
  #listDueMs = Infinity;

  constructor(options: ShardReaderOptions<R>, shards: readonly StartedShard[]) {
    this.#options = options;
    for (const { shard, position } of shards) this.#add(shard, position);
  }

  /** What has come already. */
  take(): TakenRecord<R> | undefined {
    const record = this.#records[this.#at];
    if (record === undefined) return undefined;
    this.#at += 1;
    if (this.#at === this.#records.length) {
      this.#records = [];
      this.#at = 0;
    }
    const state = this.#states.get(record.shard);
    if (state !== undefined) {
      state.waiting -= 1;
      state.before = state.taken;
      state.taken = { type: 'after_sequence_number', sequence: record.sequence };
    }
    return record;
  }

  /** The next record, or `undefined` when none has come within the time. */
  async next(waitMs: number): Promise<TakenRecord<R> | undefined> {
    const { env, signal } = this.#options.context;
    const until = env.clock.elapsedMs() + waitMs;
    for (;;) {
      const record = this.take();
      if (record !== undefined) return record;
      signal.throwIfAborted();
      await this.#listAgain();
      this.#ask();
      const leftMs = until - env.clock.elapsedMs();
      if (leftMs <= 0) return undefined;
      await this.#somethingNew(leftMs);
      if (this.#failure !== undefined) throw this.#takeFailure();
    }
  }

  /** Where each shard stands behind the records that were taken, or in front of the last of them. */
  positions(before?: TakenRecord<R>): Map<string, ShardPosition | 'end'> {
    return new Map(
      [...this.#states.values()].map(({ shard, taken, before: earlier, hasEnded, waiting }) => {
        if (before?.shard === shard.id) return [shard.id, earlier];
        return [shard.id, hasEnded && waiting === 0 ? 'end' : taken];
      }),
    );
  }

  /** Whether no shard is left from which records could come. */
  get hasEnded(): boolean {
    return !this.#options.follows && [...this.#states.values()].every((one) => one.hasEnded);
  }

  /** Whether a shard has failed, and not answered since. */
  get isFailing(): boolean {
    return this.#failing.size > 0;
  }

  /** Whether every shard has answered what it was asked before then. */
  hasAnswered(beforeMs: number): boolean {
    if (this.isFailing) return false;
    return [...this.#asking.values()].every(({ sinceMs }) => sinceMs >= beforeMs);
  }

  /** Whether every shard has said that it has nothing more. */
  get isQuiet(): boolean {
    return [...this.#states.values()].every(({ isQuiet, hasEnded }) => isQuiet || hasEnded);
  }

  /** Of the shard that is most behind; `undefined` as long as not every one has told. */
  get behindMs(): number | undefined {
    let most = 0;
    for (const { behindMs, hasEnded } of this.#states.values()) {
      if (hasEnded) continue;
      if (behindMs === undefined) return undefined;
      most = Math.max(most, behindMs);
    }
    return most;
  }

  #add(shard: Shard, position: ShardPosition | 'end'): void {
    const at: ShardPosition = position === 'end' ? { type: 'trim_horizon' } : position;
    this.#states.set(shard.id, {
      shard,
      fetched: at,
      taken: at,
      before: at,
      iterator: undefined,
      waiting: 0,
      hasEnded: position === 'end',
      behindMs: undefined,
      isQuiet: false,
      dueMs: 0,
    });
  }

  #takeFailure(): unknown {
    const error = this.#failure?.error;
    this.#failure = undefined;
    return error;
  }

  async #somethingNew(leftMs: number): Promise<void> {
    const { env, signal } = this.#options.context;
    const now = env.clock.elapsedMs();
    const dues = [...this.#states.values()]
      .filter((state) => this.#isOpen(state))
      .map(({ dueMs }) => dueMs - now);
    const enough = new AbortController();
    const waits = AbortSignal.any([signal, enough.signal]);
    const ms = Math.max(1, Math.min(leftMs, ...dues));
    const pause = this.#asking.size >= this.#options.atOnce ? leftMs : ms;
    const works = [...this.#asking.values()].map(({ work }) => work);
    await Promise.race([...works, env.clock.sleep(pause, waits)]);
    enough.abort();
  }

  /** Whether it may be asked: nobody asks it, and everything before it has come. */
  #isOpen({ shard, hasEnded }: ShardState): boolean {
    if (hasEnded || this.#asking.has(shard.id)) return false;
    return shard.parents.every((parent) => this.#states.get(parent)?.hasEnded ?? true);
  }

  #ask(): void {
    const now = this.#options.context.env.clock.elapsedMs();
    const due = [...this.#states.values()]
      .filter((state) => this.#isOpen(state) && state.dueMs <= now)
      .sort((a, b) => a.dueMs - b.dueMs);
    for (const state of due.slice(0, this.#options.atOnce - this.#asking.size)) {
      const work = this.#fetch(state)
        .catch((error: unknown) => {
          this.#failing.add(state.shard.id);
          this.#failure ??= { error };
        })
        .finally(() => this.#asking.delete(state.shard.id));
      this.#asking.set(state.shard.id, { work, sinceMs: now });
    }
  }

  async #fetch(state: ShardState): Promise<void> {
    const { client, context } = this.#options;
    try {
      state.iterator ??= await client.iterator(state.shard.id, state.fetched);
      this.#received(state, await client.records(state.iterator));
    } catch (error) {
      if (!client.isExpired(error)) throw error;
      const { fetched } = state;
      // Behind all that is there now would leave out what came in between.
      if (fetched.type === 'latest') state.fetched = { type: 'at_timestamp', ms: fetched.sinceMs };
      state.iterator = undefined;
      state.dueMs = context.env.clock.elapsedMs();
    }
  }

  #received(state: ShardState, page: ShardPage<R>): void {
    const { records, next, behindMs, mayHaveMore = records.length > 0 } = page;
    const { context, pollMs } = this.#options;
    this.#failing.delete(state.shard.id);
    for (const record of records) this.#records.push({ ...record, shard: state.shard.id });
    const last = records.at(-1);
    if (last !== undefined)
      state.fetched = { type: 'after_sequence_number', sequence: last.sequence };
    state.waiting += records.length;
    state.behindMs = behindMs;
    state.iterator = next;
    const now = context.env.clock.elapsedMs();
    // Of a shard to which nothing is added any more, the end is still to come.
    const isBehind = behindMs === undefined ? mayHaveMore || state.shard.isClosed : behindMs > 0;
    // An answer may be empty in the middle of a shard that has more.
    state.isQuiet = last === undefined && !isBehind;
    state.dueMs = now + (isBehind ? LEAST_POLL_MS : pollMs);
    if (next !== undefined) return;
    state.hasEnded = true;
    if (this.#options.follows) this.#listDueMs = now;
  }

  /** A shard ends when the stream is split or merged: others go on in its place. */
  async #listAgain(): Promise<void> {
    const { client, context, pollMs } = this.#options;
    if (context.env.clock.elapsedMs() < this.#listDueMs) return;
    const added = (await client.shards()).filter(({ id }) => !this.#states.has(id));
    const open = added.filter(({ parents }) => parents.some((one) => this.#states.has(one)));
    for (const shard of open) this.#add(shard, { type: 'trim_horizon' });
    const isLeft = [...this.#states.values()].some(({ hasEnded }) => !hasEnded);
    this.#listDueMs = isLeft ? Infinity : context.env.clock.elapsedMs() + pollMs;
  }
}
