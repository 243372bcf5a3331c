import type { SqliteClient } from './sqlite-client.ts';
import type {
  Row,
  SqlDialect,
  SqlReadOptions,
  SqlResult,
  SqlScript,
  SqlStatement,
  SqlStore,
  SqlValue,
  SqlWriteOptions,
} from '../sql/sql-store.ts';

/** Longer than the commits of other instances take. */
const PING_LOCK_WAIT_MS = 250;

/** A transaction that writes has the database for itself. */
export const SQLITE: SqlDialect = {
  lockRows: '',
  // By itself it takes the index of the status, and sorts what that gives.
  inTurn: 'INDEXED BY svc_serve_runs_queued_in_turn',
  lockNames: () => [],
};

export class SqliteStore implements SqlStore {
  readonly dialect = SQLITE;
  readonly #client: SqliteClient;

  constructor(client: SqliteClient) {
    this.#client = client;
  }

  read(
    sql: string,
    values: readonly SqlValue[],
    { isSeenAtOnce = false }: SqlReadOptions = {},
  ): Promise<readonly Row[]> {
    return isSeenAtOnce
      ? this.#client.readAtOnce(sql, ...values)
      : this.#client.read(sql, ...values);
  }

  write(
    statements: readonly SqlStatement[],
    options?: SqlWriteOptions,
  ): Promise<readonly number[]> {
    return this.#client.write(() => this.#runAll(statements), options);
  }

  writeDeferred(statements: readonly SqlStatement[]): Promise<readonly number[]> {
    return this.#client.writeDeferred(() => this.#runAll(statements));
  }

  change<T>(script: () => SqlScript<T>, options: SqlWriteOptions = {}): Promise<T> {
    const work = (): T => this.#follow(script());
    return options.isSeenAtOnce === true
      ? this.#client.writeAtOnce(work, options)
      : this.#client.write(work, options);
  }

  async ping(): Promise<void> {
    // A transaction that changes nothing, but needs the lock that every write needs.
    await this.#client.writeAtOnce(
      () => this.#client.all('SELECT 1 FROM svc_serve_migrations LIMIT 1'),
      { lockWaitMs: PING_LOCK_WAIT_MS },
    );
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #runAll(statements: readonly SqlStatement[]): readonly number[] {
    return statements.map(({ sql, values }) => this.#client.run(sql, ...values));
  }

  #follow<T>(script: SqlScript<T>): T {
    let step = script.next();
    while (step.done !== true) step = script.next(step.value.map((one) => this.#run(one)));
    return step.value;
  }

  #run({ sql, values, returns }: SqlStatement): SqlResult {
    if (returns !== true) return { rows: [], changed: this.#client.run(sql, ...values) };
    const rows = this.#client.all(sql, ...values);
    return { rows, changed: rows.length };
  }
}
