/**
 * The transaction for writing pages. It may span several pages, with one COPY stream as long as
 * their rows have the same columns.
 */
import type { ClientBase, Pool } from 'pg';
import { markSpent } from '../../../lib/spent-attempts.ts';
import { lend, type Lent } from '../../../lib/sql/postgres.ts';
import { CopyIn } from '../copy/copy-in.ts';
import { placeCopied } from './refused-value.ts';
import type { arrivalTable } from './statements.ts';

export type ArrivalTable = Pick<ReturnType<typeof arrivalTable>, 'create' | 'empty'>;

/** The bytes of a COPY statement before and after its rows. */
export interface CopyStatement {
  readonly sql: string;
  readonly head?: Uint8Array;
  readonly tail?: Uint8Array;
}

/** The open transaction, as the work of one page sees it. */
export interface Transaction {
  /** The connection for other statements; a running COPY is ended first. */
  client(): Promise<ClientBase>;
  /**
   * A stream for rows of a COPY statement; continues the stream of the previous page if the
   * statement is the same.
   */
  copy(statement: CopyStatement): Promise<CopyIn>;
  /** Creates a temporary table for rows, or empties it when the transaction has used it. */
  arrival(table: ArrivalTable): Promise<void>;
}

interface OpenTransaction {
  readonly lent: Lent;
  /** The task that started it; reported when the server refuses a row later. */
  readonly doing: string;
  copy: { readonly statement: CopyStatement; readonly stream: CopyIn } | undefined;
  /** Whether BEGIN was sent; it is sent with the first statement. */
  begun: boolean;
  /** Statements that have created temporary tables. */
  readonly arrivals: Set<string>;
}

export class WriteTransaction {
  readonly #pool: Pool;
  readonly #signal: AbortSignal;
  #open: OpenTransaction | undefined;
  /** The error that lost accepted pages: nothing may be written after it. */
  #lost: { readonly error: unknown } | undefined;

  constructor(pool: Pool, signal: AbortSignal) {
    this.#pool = pool;
    this.#signal = signal;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /**
   * Writes one page and commits the transaction, unless it is to stay open. An error rolls back
   * everything in it.
   */
  async work<T>(
    doing: string,
    { hold }: { readonly hold: boolean },
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<T> {
    this.#refuseLost();
    const joins = this.isOpen;
    const open = (this.#open ??= {
      lent: await lend(this.#pool, this.#signal),
      doing,
      copy: undefined,
      begun: false,
      arrivals: new Set(),
    });
    open.copy?.stream.beginPage(0);
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

  /** Commits the open transaction. */
  async commit(): Promise<void> {
    this.#refuseLost();
    if (this.#open !== undefined)
      await this.work(this.#open.doing, { hold: false }, () => Promise.resolve());
  }

  /** Rolls back the open transaction. */
  async close(): Promise<void> {
    await this.#abandon();
  }

  /** However often a page is sent again, those before it are gone. */
  #refuseLost(): void {
    if (this.#lost === undefined) return;
    const { error } = this.#lost;
    if (error instanceof Error) markSpent(error);
    throw error;
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
    // The first error is the one to report; a connection that cannot roll back is closed.
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
  const client = async (): Promise<ClientBase> => {
    await endCopy(open);
    if (!open.begun) {
      open.begun = true;
      await open.lent.client.query('BEGIN');
    }
    return open.lent.client;
  };
  return {
    client,
    async arrival({ create, empty }) {
      await (await client()).query(open.arrivals.has(create) ? empty : create);
      open.arrivals.add(create);
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
  const { statement, stream } = copy;
  try {
    if (statement.tail !== undefined) await stream.write(statement.tail);
    await stream.end();
  } catch (error) {
    throw placeCopied(error, stream);
  }
}
