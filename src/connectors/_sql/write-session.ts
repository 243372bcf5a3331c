/** The connection of a sink: one task at a time, and a new connection after one that broke. */
import { requireOpen } from '../../kit/sink.ts';
import { momentAfter } from '../../lib/moment-after.ts';
import { StatementLimit, type StatementTime } from '../../lib/sql/statement-limit.ts';
import { untilAborted } from '../../lib/sql/until-aborted.ts';

/** A connection with transactions. */
export interface WriteLink {
  /** Whether the connection has ended. */
  readonly isOver: boolean;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  cancel(): Promise<void>;
  close(): void;
}

export interface WriteServer<L extends WriteLink> {
  open(this: void, signal: AbortSignal): Promise<L>;
  /** The error as one of ours; `doing` says what failed. */
  error(this: void, error: unknown, doing: string): Error;
  /** Whether the connection cannot be used any more. */
  isBroken(this: void, error: unknown): boolean;
  /** The server has rolled back, and says that trying again may succeed. */
  isTransient?(this: void, error: unknown): boolean;
  /** A rollback failed because the server has rolled back by itself. */
  isUndone?(this: void, error: unknown): boolean;
  /** How long one task may take, where the connection itself sets no limit. */
  readonly time?: StatementTime;
}

const MOST_TRIES = 4;

export class WriteSession<L extends WriteLink> {
  readonly #server: WriteServer<L>;
  readonly #signal: AbortSignal;
  #link: L | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Whether a transaction is asked for of which nothing was sent. */
  #isBeginning = false;
  #isClosed = false;

  constructor(server: WriteServer<L>, signal: AbortSignal) {
    this.#server = server;
    this.#signal = signal;
  }

  /** Runs one task, which ends with the signal; one that is `always` done, a moment later. */
  run<T>(
    doing: string,
    work: (link: L) => Promise<T>,
    { always = false }: { readonly always?: boolean } = {},
  ): Promise<T> {
    const signal = always ? momentAfter(this.#signal) : this.#signal;
    const task = this.#last.then(() => this.#run(doing, work, signal));
    this.#last = task.catch(() => {});
    return task;
  }

  /** The same in a transaction, which is tried again where the server asks for that. */
  transaction<T>(doing: string, work: (link: L) => Promise<T>): Promise<T> {
    return this.run(doing, async (link) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await this.#once(link, work);
        } catch (error) {
          const isLast = tries === MOST_TRIES || this.#link !== link;
          if (isLast || this.#server.isTransient?.(error) !== true) throw error;
        }
      }
    });
  }

  /** The work is undone whatever comes of it. */
  rehearsal(doing: string, work: (link: L) => Promise<void>): Promise<void> {
    return this.run(doing, async (link) => {
      await this.#begin(link);
      try {
        await work(link);
      } finally {
        await this.#undo(link);
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#forget();
  }

  async #begin(link: L): Promise<void> {
    this.#isBeginning = true;
    await link.begin();
    this.#isBeginning = false;
  }

  async #once<T>(link: L, work: (link: L) => Promise<T>): Promise<T> {
    await this.#begin(link);
    try {
      const result = await work(link);
      await link.commit();
      return result;
    } catch (error) {
      await this.#undo(link);
      throw error;
    }
  }

  /** A connection that cannot roll back is closed, and the server rolls back. */
  async #undo(link: L): Promise<void> {
    try {
      await link.rollback();
    } catch (error) {
      if (this.#server.isUndone?.(error) !== true) this.#forget();
    }
  }

  /** What ended a connection while nothing was done with it is nobody's failure. */
  async #run<T>(doing: string, work: (link: L) => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      requireOpen(this.#isClosed);
      if (this.#link?.isOver === true) this.#forget();
      const wasIdle = this.#link !== undefined;
      const link = (this.#link ??= await this.#server.open(signal));
      this.#isBeginning = false;
      using limit = new StatementLimit(signal, doing, this.#server.time);
      try {
        return await untilAborted(work(link), {
          signal: limit.signal,
          cancel: () => link.cancel(),
        });
      } catch (error) {
        const isStopped = limit.signal?.aborted === true;
        const isLost = link.isOver || this.#server.isBroken(error);
        if (isStopped || isLost) this.#forget();
        if (!isStopped && isLost && wasIdle && this.#isBeginning) continue;
        throw isStopped && error === limit.signal.reason ? error : this.#server.error(error, doing);
      }
    }
  }

  #forget(): void {
    this.#link?.close();
    this.#link = undefined;
  }
}
