import type { ClientBase, Pool } from 'pg';
import { messageOf } from '../../lib/errors.ts';
import { inPostgresTransaction, openPostgresPool, withClient } from '../../lib/sql/postgres.ts';
import { HistoryError } from '../history.ts';
import type {
  Row,
  SqlDialect,
  SqlResult,
  SqlScript,
  SqlStatement,
  SqlStore,
  SqlValue,
} from './sql-store.ts';

const CONNECTIONS = 2;
const CONNECT_TIMEOUT_MS = 5000;
/**
 * A run waits for its records to be stored: tables locked by another session must not stop it for
 * ever.
 */
const STATEMENT_TIMEOUT_MS = 10_000;
/** Key of the lock under which tables are created; several processes may start at once. */
const MAKING_TABLES = 7_246_103_553;
/** Names of the same number only wait for each other. */
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))';
const LOCK_SHARED = 'SELECT pg_advisory_xact_lock_shared(hashtextextended(?, 0))';

export class PostgresStore implements SqlStore {
  readonly dialect: SqlDialect = {
    lockRows: 'FOR UPDATE SKIP LOCKED',
    lockNames: (names, how) =>
      names.map((name) => ({ sql: how === 'shared' ? LOCK_SHARED : LOCK, values: [name] })),
  };
  readonly #pool: Pool;
  readonly #statementTimeoutMs: number;

  private constructor(pool: Pool, statementTimeoutMs: number) {
    this.#pool = pool;
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  /** Makes the tables where they are missing. Rejects with `HistoryError`. */
  static async open(
    url: string,
    tables: string,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  ): Promise<PostgresStore> {
    const pool = await openPostgresPool({
      url,
      max: CONNECTIONS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
    const store = new PostgresStore(pool, statementTimeoutMs);
    try {
      await store.#inTransaction(async (client) => {
        await client.query(`SELECT pg_advisory_xact_lock(${MAKING_TABLES})`);
        await client.query(tables);
      });
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async read(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    try {
      const work = (client: ClientBase) => client.query<Row>(numbered(sql), [...values]);
      return (await withClient(this.#pool, { doing: 'reading' }, work)).rows;
    } catch (error) {
      throw historyError(error);
    }
  }

  write(statements: readonly SqlStatement[]): Promise<readonly number[]> {
    return this.#inTransaction(async (client) => {
      const changed: number[] = [];
      for (const { sql, values } of statements)
        changed.push((await client.query(numbered(sql), [...values])).rowCount ?? 0);
      return changed;
    });
  }

  change<T>(script: () => SqlScript<T>): Promise<T> {
    return this.#inTransaction(async (client) => {
      const running = script();
      let step = running.next();
      while (step.done !== true) {
        const results: SqlResult[] = [];
        for (const { sql, values } of step.value) {
          const { rows, rowCount } = await client.query<Row>(numbered(sql), [...values]);
          results.push({ rows, changed: rowCount ?? 0 });
        }
        step = running.next(results);
      }
      return step.value;
    });
  }

  async ping(): Promise<void> {
    await this.read('SELECT 1', []);
  }

  writeDeferred(statements: readonly SqlStatement[]): Promise<readonly number[]> {
    return this.write(statements);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #inTransaction<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    const limited = async (client: ClientBase): Promise<T> => {
      await client.query(`SET LOCAL statement_timeout = ${this.#statementTimeoutMs}`);
      return work(client);
    };
    try {
      return await withClient(this.#pool, { doing: 'writing' }, (client) =>
        inPostgresTransaction(client, () => limited(client)),
      );
    } catch (error) {
      throw historyError(error);
    }
  }
}

/** `?` as PostgreSQL writes it. No text of ours holds one that is none. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => `$${(count += 1)}`);
}

function historyError(error: unknown): HistoryError {
  return error instanceof HistoryError
    ? error
    : new HistoryError(`the database failed: ${messageOf(error)}`, { cause: error });
}
