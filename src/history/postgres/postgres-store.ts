/** The tables of a history in PostgreSQL: reads side by side, writes in the order of the calls. */
import type { Client, ClientBase, ClientConfig, Pool } from 'pg';
import { Gate } from '../../lib/gate.ts';
import { connectPostgres, openPostgresPool } from '../../lib/sql/postgres.ts';
import { HistoryError } from '../history.ts';
import { query } from './connection.ts';
import { isOutdated, isUnreachable, Presence, refusedError, unreachableError } from './presence.ts';
import { PostgresWriter } from './writer.ts';
import type {
  Row,
  SqlDialect,
  SqlResult,
  SqlScript,
  SqlStatement,
  SqlStore,
  SqlValue,
  SqlWriteOptions,
} from '../sql/sql-store.ts';

/** One of them writes, one does so aside, one looks whether the database is there. */
const CONNECTIONS = 5;
const READERS = CONNECTIONS - 3;
const CONNECT_TIMEOUT_MS = 5000;
/** Tables that another session has locked must not stop the server for ever. */
const STATEMENT_TIMEOUT_MS = 5000;
/** A server that says nothing any more, not even that its time is over. */
const ANSWER_MARGIN_MS = 1000;
/** What a frozen instance has locked is free again after that. */
const IDLE_TRANSACTION_MS = 30_000;
const PING_WAIT_MS = 1000;

/** Names of the same number only wait for each other. */
const locking = (lock: string): Pick<SqlStatement, 'sql' | 'many' | 'returns'> => ({
  sql: `SELECT ${lock}(hashtextextended(?, 0))`,
  many: {
    sql: `SELECT ${lock}(n) FROM (SELECT DISTINCT hashtextextended(name, 0) AS n FROM unnest(?::text[]) AS name ORDER BY n) AS names`,
  },
});
const LOCKS = {
  shared: locking('pg_advisory_xact_lock_shared'),
  alone: locking('pg_advisory_xact_lock'),
};

export interface PostgresStoreOptions {
  readonly schema?: string | undefined;
  readonly statementTimeoutMs?: number;
  /** How long callers wait for a database that was there a moment ago. */
  readonly waitMs?: number;
  /** Makes the tables; done before the first use, and again until it succeeds. */
  readonly setUp?: (store: PostgresStore) => Promise<void>;
  readonly backgroundWaitMs?: number | undefined;
}

export class PostgresStore implements SqlStore {
  readonly dialect: SqlDialect = {
    lockRows: 'FOR UPDATE SKIP LOCKED',
    inTurn: '',
    lockNames: (names, how) => names.map((name) => ({ ...LOCKS[how], values: [name] })),
  };
  readonly #pool: Pool;
  readonly #presence: Presence;
  readonly #readers = new Gate(READERS);
  readonly #writer: PostgresWriter;
  /** For what waits for nothing else, and nothing else for it. */
  readonly #aside: PostgresWriter;
  /** Writes that later reads have to see. */
  readonly #deferred = new Set<Promise<unknown>>();
  readonly #setUp: ((store: PostgresStore) => Promise<void>) | undefined;
  readonly #connect: (client?: ClientConfig) => Promise<Client>;
  #ready: Promise<void> | undefined;

  private constructor(
    pool: Pool,
    connect: (client?: ClientConfig) => Promise<Client>,
    { waitMs, setUp, backgroundWaitMs }: PostgresStoreOptions,
  ) {
    this.#pool = pool;
    this.#connect = connect;
    this.#setUp = setUp;
    this.#presence = new Presence(waitMs);
    const newWriter = (): PostgresWriter =>
      new PostgresWriter((work) => this.#useTables(work), this.#presence, { backgroundWaitMs });
    this.#writer = newWriter();
    this.#aside = newWriter();
  }

  /** Connects when it is first needed. */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    const { schema, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
    const session = {
      statement_timeout: statementTimeoutMs,
      ...(schema === undefined ? {} : { options: `-c search_path=${schema}` }),
    };
    const pool = await openPostgresPool({
      url,
      max: CONNECTIONS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      session: {
        ...session,
        pipeline: true,
        query_timeout: statementTimeoutMs + ANSWER_MARGIN_MS,
        idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
      },
    }).catch((error: unknown) => {
      throw refusedError(error);
    });
    const connect = (client: ClientConfig = {}): Promise<Client> =>
      connectPostgres({
        url,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        client: { ...session, ...client },
      });
    return new PostgresStore(pool, connect, options);
  }

  /** For setting up the tables. Rejects with the error of the client. */
  use<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    return useClient(this.#pool, work);
  }

  /** A connection beside the pool, for whoever keeps it. Rejects when the database is away. */
  connectAlone(): Promise<Client> {
    return this.#connect();
  }

  /**
   * On a connection of its own, which is given up when it does not answer in time: for what must
   * not wait for anything that goes on in the pool.
   */
  async askAside<T>(work: (client: ClientBase) => Promise<T>, waitMs: number): Promise<T> {
    const client = await this.#connect({
      pipeline: true,
      connectionTimeoutMillis: waitMs,
      query_timeout: waitMs,
    });
    try {
      return await work(client);
    } finally {
      // One that is silent would be waited for.
      void client.end().catch(() => {});
    }
  }

  /** Resolves when the tables are there. */
  async ready(): Promise<void> {
    this.#ready ??= (this.#setUp?.(this) ?? Promise.resolve()).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    await this.#ready;
  }

  async #useTables<T>(work: (client: Client) => Promise<T>): Promise<T> {
    await this.ready();
    return useClient(this.#pool, work);
  }

  async read(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    if (this.#deferred.size > 0) {
      this.#writer.flush();
      await Promise.allSettled(this.#deferred);
    }
    const leave = await this.#readers.enter();
    const reading = this.#readAgain(sql, values).finally(leave);
    const { rows } = await this.#inTime(reading, this.#presence.waitMs);
    return rows;
  }

  write(
    statements: readonly SqlStatement[],
    options?: SqlWriteOptions,
  ): Promise<readonly number[]> {
    return this.change(() => changes(statements), options);
  }

  writeDeferred(
    statements: readonly SqlStatement[],
    options?: Pick<SqlWriteOptions, 'touches'>,
  ): Promise<readonly number[]> {
    const how = { ...options, background: true, isDeferred: true };
    const written = this.#writer.write(() => changes(statements), how);
    const settled = written.catch(() => undefined).finally(() => this.#deferred.delete(settled));
    this.#deferred.add(settled);
    return written;
  }

  change<T>(script: () => SqlScript<T>, options: SqlWriteOptions = {}): Promise<T> {
    return (options.isAside === true ? this.#aside : this.#writer).write(script, options);
  }

  async ping(): Promise<void> {
    const asking = this.#ask(() =>
      this.#useTables((client) => query(client, 'SELECT pg_is_in_recovery() AS copy', [])),
    );
    const { rows } = await this.#inTime(asking, PING_WAIT_MS);
    if (rows[0]?.['copy'] as unknown as boolean)
      throw new HistoryError('the history database is a read-only copy');
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#aside.close()]);
    await this.#pool.end();
  }

  /** A connection that broke, or is outdated, while nobody used it is found by the next query. */
  async #readAgain(sql: string, values: readonly SqlValue[]): Promise<SqlResult> {
    return this.#ask(async () => {
      for (let tries = 1; ; tries += 1)
        try {
          return await this.#useTables((client) => query(client, sql, values));
        } catch (error) {
          if (tries > (isOutdated(error) ? CONNECTIONS : 1)) throw error;
          if (!isOutdated(error) && !isUnreachable(error)) throw error;
        }
    });
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      const answer = await work();
      this.#presence.noteAnswer();
      return answer;
    } catch (error) {
      if (!isUnreachable(error)) throw refusedError(error);
      this.#presence.noteAway(error);
      throw unreachableError(error);
    }
  }

  #inTime<T>(work: Promise<T>, waitMs: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(() => {
      const error = new Error(`no answer within ${waitMs} ms`);
      this.#presence.noteAway(error, waitMs);
      reject(unreachableError(error));
    }, waitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
    return promise;
  }
}

function* changes(statements: readonly SqlStatement[]): SqlScript<readonly number[]> {
  return (yield statements).map(({ changed }) => changed);
}

/** A connection on which something failed is not used again: its state is not known. */
async function useClient<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    const value = await work(client);
    client.release();
    return value;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
