/** The connection of a sink: one task at a time, and a new connection after one that broke. */
import { requireOpen } from '../../../kit/sink.ts';
import { momentAfter } from '../../../lib/moment-after.ts';
import { untilAborted } from '../../../lib/sql/until-aborted.ts';
import { Link } from '../../_mssql/connection.ts';
import { isBroken, isTransient, mssqlError, numberOf } from '../../_mssql/errors.ts';
import type { Endpoint } from '../../_mssql/fields.ts';

/**
 * Any error undoes the whole transaction. The level is that of the server by default; what needs
 * more says so in its statement.
 */
const WRITING = `SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET IMPLICIT_TRANSACTIONS OFF`;
/** There is no transaction: the server has rolled back by itself. */
const NO_TRANSACTION = 3903;
const MOST_TRIES = 4;

export class WriteSession {
  readonly #endpoint: Endpoint;
  readonly #timeoutSecs: number;
  readonly #signal: AbortSignal;
  #link: Link | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(
    endpoint: Endpoint & { readonly statement_timeout_secs: number },
    signal: AbortSignal,
  ) {
    this.#endpoint = endpoint;
    this.#timeoutSecs = endpoint.statement_timeout_secs;
    this.#signal = signal;
  }

  /** Runs one task, which ends with the signal; one that is `always` done, a moment later. */
  run<T>(
    doing: string,
    work: (link: Link) => Promise<T>,
    { always = false }: { readonly always?: boolean } = {},
  ): Promise<T> {
    const signal = always ? momentAfter(this.#signal) : this.#signal;
    const task = this.#last.then(() => this.#run(doing, work, signal));
    this.#last = task.catch(() => {});
    return task;
  }

  /** The same in a transaction, which is tried again where the server asks for that. */
  transaction<T>(doing: string, work: (link: Link) => Promise<T>): Promise<T> {
    return this.run(doing, async (link) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await this.#once(link, work);
        } catch (error) {
          if (!isTransient(error) || tries === MOST_TRIES || this.#link !== link) throw error;
        }
      }
    });
  }

  /** The work is undone whatever comes of it. */
  rehearsal(doing: string, work: (link: Link) => Promise<void>): Promise<void> {
    return this.run(doing, async (link) => {
      await link.begin();
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

  async #once<T>(link: Link, work: (link: Link) => Promise<T>): Promise<T> {
    await link.begin();
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
  async #undo(link: Link): Promise<void> {
    try {
      await link.rollback();
    } catch (error) {
      if (numberOf(error) !== NO_TRANSACTION) this.#forget();
    }
  }

  async #run<T>(doing: string, work: (link: Link) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    requireOpen(this.#isClosed);
    const link = (this.#link ??= await this.#connect(signal));
    try {
      return await untilAborted(work(link), { signal, cancel: () => link.cancel() });
    } catch (error) {
      const isStopped = signal.aborted;
      if (isStopped || link.isOver || isBroken(error)) this.#forget();
      throw isStopped && error === signal.reason ? error : mssqlError(error, doing);
    }
  }

  async #connect(signal: AbortSignal | undefined): Promise<Link> {
    const link = await Link.open(this.#endpoint, { signal, timeoutSecs: this.#timeoutSecs });
    await link.batch(WRITING);
    return link;
  }

  #forget(): void {
    this.#link?.close();
    this.#link = undefined;
  }
}
