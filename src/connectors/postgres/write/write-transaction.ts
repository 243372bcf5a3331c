/**
 * The transaction pages are written in. It may span several pages, with one COPY stream as long as
 * their rows go to the same columns.
 */
import type { ClientBase, Pool } from 'pg';
import { lend, type Lent } from '../../../lib/sql/postgres.ts';
import { CopyIn } from '../copy/copy-in.ts';

/** What a COPY statement starts and ends with beside its rows. */
export interface CopyStatement {
  readonly sql: string;
  readonly head?: Uint8Array;
  readonly tail?: Uint8Array;
}

/** The open transaction, as the work of one page sees it. */
export interface Transaction {
  /** The connection for other statements; what COPY was doing is ended first. */
  client(): Promise<ClientBase>;
  /** Rows for a COPY statement, which goes on where the page before had the same. */
  copy(statement: CopyStatement): Promise<CopyIn>;
}

interface OpenTransaction {
  readonly lent: Lent;
  /** What began it; a row the server refuses late is told as a failure of that. */
  readonly doing: string;
  copy: { readonly statement: CopyStatement; readonly stream: CopyIn } | undefined;
  /** Whether the server knows of the transaction; its first statement takes the beginning along. */
  begun: boolean;
}

export class WriteTransaction {
  readonly #pool: Pool;
  readonly #signal: AbortSignal;
  #open: OpenTransaction | undefined;
  /** Why pages that were taken are gone: nothing may be written after them. */
  #lost: { readonly error: unknown } | undefined;

  constructor(pool: Pool, signal: AbortSignal) {
    this.#pool = pool;
    this.#signal = signal;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /**
   * Does the work of one page, and commits it with all that is held unless it is to be held too. A
   * failure rolls all of it back.
   */
  async work<T>(
    doing: string,
    { hold }: { readonly hold: boolean },
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<T> {
    if (this.#lost !== undefined) throw this.#lost.error;
    const joins = this.isOpen;
    const open = (this.#open ??= {
      lent: await lend(this.#pool, this.#signal),
      doing,
      copy: undefined,
      begun: false,
    });
    try {
      return await open.lent.do(doing, async () => {
        const result = await work(transactionOf(open));
        if (!hold) await this.#end(open, 'COMMIT');
        return result;
      });
    } catch (error) {
      if (joins) this.#lost = { error };
      await this.#abandon();
      throw error;
    }
  }

  /** Makes everything held durable. */
  async commit(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost.error;
    if (this.#open !== undefined)
      await this.work(this.#open.doing, { hold: false }, () => Promise.resolve());
  }

  /** Rolls back everything held. */
  async close(): Promise<void> {
    await this.#abandon();
  }

  async #end(open: OpenTransaction, how: 'COMMIT'): Promise<void> {
    await endCopy(open);
    if (open.begun) await open.lent.client.query(how);
    this.#open = undefined;
    open.lent.release();
  }

  async #abandon(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    // The first failure is the one worth telling; a connection that cannot roll back is thrown
    // away.
    await open.lent
      .do('rolling back', async () => {
        await open.copy?.stream.fail();
        if (open.begun) await open.lent.client.query('ROLLBACK');
      })
      .catch(() => {});
    open.lent.release();
  }
}

function transactionOf(open: OpenTransaction): Transaction {
  return {
    async client() {
      await endCopy(open);
      if (!open.begun) {
        open.begun = true;
        await open.lent.client.query('BEGIN');
      }
      return open.lent.client;
    },
    async copy(statement) {
      if (open.copy?.statement.sql === statement.sql) return open.copy.stream;
      await endCopy(open);
      const begin = open.begun ? '' : 'BEGIN; ';
      open.begun = true;
      const stream = await CopyIn.start(open.lent.client, begin + statement.sql);
      open.copy = { statement, stream };
      if (statement.head !== undefined) await stream.write(statement.head);
      return stream;
    },
  };
}

async function endCopy(open: OpenTransaction): Promise<void> {
  const { copy } = open;
  if (copy === undefined) return;
  open.copy = undefined;
  if (copy.statement.tail !== undefined) await copy.stream.write(copy.statement.tail);
  await copy.stream.end();
}
