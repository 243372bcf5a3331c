/** The database of a catalog. Statements have parameters `$1`, `$2` and so on. */
import type { DatabaseSync } from 'node:sqlite';
import type { Pool } from 'pg';
import type { SinkContext } from '../../../kit/context.ts';
import { closedInTime } from '../../../lib/closed-in-time.ts';
import { openPostgresPool, withClient } from '../../../lib/sql/postgres.ts';
import { isSqliteThere, MEMORY, openSqlite, sqliteError } from '../../../lib/sql/sqlite.ts';
import type { SqlAddress } from './sql-address.ts';

type Row = readonly unknown[];

export interface CatalogDatabase {
  ask(sql: string, values: readonly string[]): Promise<readonly Row[]>;
  /** Gives the number of rows that were changed. */
  change(sql: string, values: readonly string[]): Promise<number>;
  hasTable(name: string): Promise<boolean>;
  hasColumn(table: string, column: string): Promise<boolean>;
  /** Never throws. */
  close(): Promise<void>;
}

export async function openDatabase(
  address: SqlAddress,
  { env, signal, onlyReads }: Pick<SinkContext, 'env' | 'signal' | 'onlyReads'>,
  writes: boolean,
): Promise<CatalogDatabase> {
  if (address.is === 'sqlite') {
    const isMissing = onlyReads === true && !isSqliteThere(address.url, env.cwd);
    const mode = writes && onlyReads !== true ? 'rwc' : 'rw';
    const url = isMissing ? `sqlite:${MEMORY}` : address.url;
    return new SqliteDatabase(openSqlite(url, { mode, cwd: env.cwd }));
  }
  const pool = await openPostgresPool({ url: address.url, max: 1, signal, time: ANSWER_TIME });
  return new PostgresDatabase(pool, signal);
}

/** Its statements are about a line of a small table each. */
const ANSWER_TIME = { secs: 60 };
const DOING = 'the catalog cannot be asked';

class SqliteDatabase implements CatalogDatabase {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  ask(sql: string, values: readonly string[]): Promise<readonly Row[]> {
    return this.#do(sql, (statement) => {
      const rows = statement.all(named(values));
      return rows.map((row) => Object.values(row));
    });
  }

  change(sql: string, values: readonly string[]): Promise<number> {
    return this.#do(sql, (statement) => Number(statement.run(named(values)).changes));
  }

  async hasTable(name: string): Promise<boolean> {
    const sql = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1`;
    return (await this.ask(sql, [name])).length > 0;
  }

  async hasColumn(table: string, column: string): Promise<boolean> {
    const sql = 'SELECT 1 FROM pragma_table_info($1) WHERE name = $2';
    return (await this.ask(sql, [table, column])).length > 0;
  }

  close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
    return Promise.resolve();
  }

  #do<T>(sql: string, work: (statement: ReturnType<DatabaseSync['prepare']>) => T): Promise<T> {
    try {
      return Promise.resolve(work(this.#database.prepare(sql)));
    } catch (error) {
      return Promise.reject(sqliteError(error, DOING));
    }
  }
}

function named(values: readonly string[]): Record<string, string> {
  return Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]));
}

class PostgresDatabase implements CatalogDatabase {
  readonly #pool: Pool;
  readonly #signal: AbortSignal;

  constructor(pool: Pool, signal: AbortSignal) {
    this.#pool = pool;
    this.#signal = signal;
  }

  async ask(sql: string, values: readonly string[]): Promise<readonly Row[]> {
    return (await this.#query(sql, values)).rows;
  }

  async change(sql: string, values: readonly string[]): Promise<number> {
    return (await this.#query(sql, values)).count;
  }

  async hasTable(name: string): Promise<boolean> {
    const [row] = await this.ask('SELECT to_regclass($1) IS NOT NULL', [name]);
    return row?.[0] === true;
  }

  async hasColumn(table: string, column: string): Promise<boolean> {
    const sql =
      'SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2 AND NOT attisdropped';
    return (await this.ask(sql, [table, column])).length > 0;
  }

  async close(): Promise<void> {
    await closedInTime(() => this.#pool.end());
  }

  #query(
    text: string,
    values: readonly string[],
  ): Promise<{ readonly rows: readonly Row[]; readonly count: number }> {
    return withClient(this.#pool, { doing: DOING, signal: this.#signal }, async (client) => {
      const { rows, rowCount } = await client.query<unknown[]>({
        text,
        values: [...values],
        rowMode: 'array',
      });
      return { rows, count: rowCount ?? 0 };
    });
  }
}
