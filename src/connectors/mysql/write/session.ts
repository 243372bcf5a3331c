/** The connection of a sink: one task at a time, and a new connection after one that broke. */
import type { Connection } from 'mysql2';
import { requireOpen } from '../../../kit/sink.ts';
import { askMysql, connectMysql, killStatement } from '../../../lib/sql/mysql.ts';
import { isBroken, mysqlError } from '../../../lib/sql/mysql-errors.ts';
import { momentAfter } from '../../../lib/moment-after.ts';
import {
  StatementLimit,
  statementTimeOf,
  type StatementTime,
} from '../../../lib/sql/statement-limit.ts';
import { untilAborted } from '../../../lib/sql/until-aborted.ts';
import type { MysqlSinkConfig } from '../config.ts';

/**
 * Values that a column does not take are errors; zero is a value of automatic columns; years, months
 * and days of zero are what a column of the same kind may hold.
 */
const WRITING = [
  `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'`,
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  `SET net_read_timeout = 31536000`,
];

export class WriteSession {
  readonly #url: string;
  readonly #time: StatementTime;
  readonly #signal: AbortSignal;
  #connection: Connection | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Whether a transaction is asked for of which nothing was sent. */
  #isBeginning = false;
  #isClosed = false;

  constructor(
    config: Pick<MysqlSinkConfig, 'connection_url' | 'statement_timeout_secs'>,
    signal: AbortSignal,
  ) {
    this.#url = config.connection_url;
    this.#time = statementTimeOf(config);
    this.#signal = signal;
  }

  /** Runs one task, which ends with the signal; one that is `always` done, a moment later. */
  run<T>(
    doing: string,
    work: (connection: Connection) => Promise<T>,
    { always = false }: { readonly always?: boolean } = {},
  ): Promise<T> {
    const signal = always ? momentAfter(this.#signal) : this.#signal;
    const task = this.#last.then(() => this.#run(doing, work, signal));
    this.#last = task.catch(() => {});
    return task;
  }

  /** The same in a transaction. */
  transaction<T>(doing: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.run(doing, async (connection) => {
      this.#isBeginning = true;
      await askMysql(connection, 'START TRANSACTION');
      this.#isBeginning = false;
      try {
        const result = await work(connection);
        await askMysql(connection, 'COMMIT');
        return result;
      } catch (error) {
        // A connection that cannot roll back is closed, and the server rolls back.
        await askMysql(connection, 'ROLLBACK').catch(() => this.#forget());
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#forget();
  }

  /** What ended a connection while nothing was done with it is nobody's failure. */
  async #run<T>(
    doing: string,
    work: (connection: Connection) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      requireOpen(this.#isClosed);
      const wasIdle = this.#connection !== undefined;
      const connection = (this.#connection ??= await this.#open(signal));
      this.#isBeginning = false;
      using limit = new StatementLimit(signal, doing, this.#time);
      try {
        return await untilAborted(work(connection), {
          signal: limit.signal,
          cancel: () => killStatement(connection, this.#url),
        });
      } catch (error) {
        const isStopped = limit.signal?.aborted === true;
        const isLost = isBroken(error);
        if (isStopped || isLost) this.#forget();
        if (!isStopped && isLost && wasIdle && this.#isBeginning) continue;
        throw isStopped && error === limit.signal.reason ? error : mysqlError(error, doing);
      }
    }
  }

  async #open(signal: AbortSignal): Promise<Connection> {
    const connection = await connectMysql({
      url: this.#url,
      session: WRITING,
      signal,
      sendsFiles: true,
    });
    connection.on('error', () => {
      if (this.#connection === connection) this.#forget();
    });
    return connection;
  }

  #forget(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }
}
