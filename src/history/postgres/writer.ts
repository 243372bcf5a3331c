/**
 * Writes to PostgreSQL with group commit: what waits while a transaction is under way shares the
 * next one. When the database cannot be reached, writes wait until their time is over. A commit whose answer was
 * lost is looked up: nothing is done twice, and what was done is not reported as failed.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { HistoryError } from '../history.ts';
import { queryAll } from './connection.ts';
import {
  isConflict,
  isOutdated,
  isUnreachable,
  refusedError,
  unreachableError,
  type Presence,
} from './presence.ts';
import type { SqlScript } from '../sql/sql-store.ts';
import { runTogether, takeWave } from './write-waves.ts';

/** How often writes are looked at whose time may be over. */
const EXPIRY_MS = 100;
/** For writes that nobody waits for, and that would be lost. */
const BACKGROUND_WAIT_MS = 300_000;
/** A deferred write waits for the writes of others for this long at most. */
const DEFER_MS = 20;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1000;
/** Deadlocks and the like go away by themselves. */
const CONFLICT_TRIES = 8;
/** More than that could only wait; memory has a bound. */
const MOST_WAITING = 20_000;

export interface WriteOptions {
  readonly touches?: readonly string[] | undefined;
  readonly background?: boolean;
  /** It goes with the next write, or soon, and so needs no transaction of its own. */
  readonly isDeferred?: boolean;
  /** It is never given up while it is not known whether it was committed. */
  readonly isDecisive?: boolean;
}

interface Write {
  readonly script: () => SqlScript<unknown>;
  readonly touches: readonly string[] | undefined;
  readonly isDecisive: boolean;
  readonly waitMs: number;
  readonly deadline: number;
  isSettled: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HistoryError) => void;
}

/** What became of one try. */
type Outcome =
  | { readonly type: 'committed'; readonly values: readonly unknown[] }
  /** The database declined a statement; nothing was changed. */
  | { readonly type: 'refused'; readonly error: unknown }
  /** Nothing was changed. */
  | { readonly type: 'unreachable'; readonly error: unknown };

/** What is committed. */
interface Commit {
  readonly transaction: string;
  readonly values: readonly unknown[];
}

const BEGIN = 'BEGIN; SELECT txid_current()::text AS id';

/** Lends a connection; one that failed is not used again. */
export type UseConnection = <T>(work: (client: ClientBase) => Promise<T>) => Promise<T>;

export class PostgresWriter {
  readonly #use: UseConnection;
  readonly #presence: Presence;
  readonly #backgroundWaitMs: number;
  readonly #queue: Write[] = [];
  #deferTimer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** Taken from the queue. */
  #wave: readonly Write[] = [];
  /** The database may have done them: it is too late to leave them out. */
  #committing: ReadonlySet<Write> = new Set();
  #isClosed = false;

  constructor(
    use: UseConnection,
    presence: Presence,
    {
      backgroundWaitMs = BACKGROUND_WAIT_MS,
    }: { readonly backgroundWaitMs?: number | undefined } = {},
  ) {
    this.#use = use;
    this.#presence = presence;
    this.#backgroundWaitMs = backgroundWaitMs;
  }

  write<T>(script: () => SqlScript<T>, options: WriteOptions = {}): Promise<T> {
    if (this.#isClosed) return Promise.reject(new HistoryError('the history database is closed'));
    if (this.#queue.length >= MOST_WAITING)
      return Promise.reject(unreachableError(new Error('too many writes wait for it')));
    const { background = false, isDeferred = false, touches, isDecisive = false } = options;
    const waitMs = background ? this.#backgroundWaitMs : this.#presence.waitMs;
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        script,
        touches,
        isDecisive,
        waitMs,
        deadline: performance.now() + waitMs,
        isSettled: false,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      if (isDeferred) this.#deferTimer ??= setTimeout(() => this.flush(), DEFER_MS);
      else this.flush();
    });
  }

  /** Deferred writes wait no longer. */
  flush(): void {
    clearTimeout(this.#deferTimer);
    this.#deferTimer = undefined;
    if (this.#queue.length > 0) this.#working ??= this.#work();
  }

  /** Resolves when everything that was asked for is settled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.flush();
    await this.#working;
  }

  async #work(): Promise<void> {
    // Those of the same tick go together.
    await nextTick();
    const expiry = setInterval(() => this.#expire(), EXPIRY_MS);
    try {
      while (this.#queue.length > 0) {
        this.#wave = takeWave(this.#queue);
        await this.#commit(this.#wave);
      }
    } finally {
      clearInterval(expiry);
      this.#wave = [];
      this.#working = undefined;
    }
  }

  async #commit(writes: readonly Write[]): Promise<void> {
    for (let tries = 0, conflicts = 0; ; tries += 1) {
      this.#expire();
      const waiting = writes.filter(({ isSettled }) => !isSettled);
      if (waiting.length === 0) return;
      const outcome = await this.#attempt(waiting);
      if (outcome.type === 'committed') return this.#committed(waiting, outcome.values);
      if (outcome.type === 'unreachable') {
        this.#presence.noteAway(outcome.error);
        await sleep(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries, 6), LONGEST_PAUSE_MS));
        continue;
      }
      this.#presence.noteAnswer();
      const passes = isConflict(outcome.error) || isOutdated(outcome.error);
      if (passes && (conflicts += 1) < CONFLICT_TRIES) continue;
      if (waiting.length > 1) return this.#commitEach(waiting);
      for (const write of waiting) settle(write, () => write.reject(refusedError(outcome.error)));
    }
  }

  /** So that only those fail which the database declines. */
  async #commitEach(writes: readonly Write[]): Promise<void> {
    for (const write of writes) await this.#commit([write]);
  }

  async #attempt(writes: readonly Write[]): Promise<Outcome> {
    let commit: Commit | undefined;
    try {
      const values = await this.#use(async (client) => {
        const begun = client.query<{ id: string }>(BEGIN);
        const scripts = writes.map(({ script }) => script());
        const [, done] = await Promise.all([
          begun,
          runTogether(scripts, (statements) => queryAll(client, statements)),
        ]);
        if (writes.some(({ isSettled }) => isSettled)) throw new Error('a write was given up');
        this.#committing = new Set(writes);
        commit = { transaction: transactionOf(await begun), values: done };
        await client.query('COMMIT');
        return done;
      });
      return { type: 'committed', values };
    } catch (error) {
      if (commit !== undefined) return await this.#outcomeOf(commit, writes, error);
      const gaveUp = writes.some(({ isSettled }) => isSettled);
      return { type: gaveUp || isUnreachable(error) ? 'unreachable' : 'refused', error };
    } finally {
      this.#committing = new Set();
    }
  }

  /**
   * The answer to a commit was lost: asks the database what became of it, until it says so or
   * nobody waits any more.
   */
  async #outcomeOf(
    { transaction, values }: Commit,
    writes: readonly Write[],
    error: unknown,
  ): Promise<Outcome> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      this.#presence.noteAway(error);
      try {
        const status = await this.#use((client) => statusOf(client, transaction));
        if (status === 'committed') return { type: 'committed', values };
        if (status !== 'in progress') return { type: 'unreachable', error };
      } catch {
        // It is asked again.
      }
      for (const write of writes)
        if (!write.isDecisive && write.deadline <= performance.now())
          settle(write, () => write.reject(unreachableError(error)));
      if (writes.every(({ isSettled }) => isSettled)) return { type: 'unreachable', error };
      await sleep(pauseMs);
    }
  }

  #committed(writes: readonly Write[], values: readonly unknown[]): void {
    this.#presence.noteAnswer();
    for (const [index, write] of writes.entries())
      settle(write, () => write.resolve(values[index]));
  }

  #expire(): void {
    const now = performance.now();
    for (const write of [...this.#wave, ...this.#queue])
      if (write.deadline <= now && !this.#committing.has(write))
        settle(write, () => {
          const { failure, isAway } = this.#presence;
          // Where the database answers others, it is a lock that is waited for.
          if (isAway) this.#presence.noteAway(failure, write.waitMs);
          write.reject(unreachableError(failure));
        });
    const left = this.#queue.filter(({ isSettled }) => !isSettled);
    if (left.length < this.#queue.length) this.#queue.splice(0, this.#queue.length, ...left);
  }
}

function settle(write: Write, how: () => void): void {
  if (write.isSettled) return;
  write.isSettled = true;
  how();
}

/** The client gives a list where a text holds several statements. */
function transactionOf(begun: unknown): string {
  const results = begun as readonly { readonly rows: readonly { readonly id: string }[] }[];
  const id = results.at(-1)?.rows[0]?.id;
  assert(id !== undefined, 'a transaction has a number');
  return id;
}

async function statusOf(client: ClientBase, transaction: string): Promise<string | null> {
  const sql = 'SELECT txid_status($1::bigint) AS status';
  const { rows } = await client.query<{ status: string | null }>(sql, [transaction]);
  return rows[0]?.status ?? null;
}
