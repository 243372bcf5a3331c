import type { Row, SqliteClient } from './sqlite-client.ts';
import type { SqlStatement, SqlStore, SqlValue, SqlWriteOptions } from './sql-store.ts';

export class SqliteStore implements SqlStore {
  readonly #client: SqliteClient;

  constructor(client: SqliteClient) {
    this.#client = client;
  }

  read(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.#client.read(sql, ...values);
  }

  write(
    statements: readonly SqlStatement[],
    options?: SqlWriteOptions,
  ): Promise<readonly number[]> {
    return this.#client.write(() => this.#run(statements), options);
  }

  writeDeferred(statements: readonly SqlStatement[]): Promise<readonly number[]> {
    return this.#client.writeDeferred(() => this.#run(statements));
  }

  #run(statements: readonly SqlStatement[]): readonly number[] {
    return statements.map(({ sql, values }) => this.#client.run(sql, ...values));
  }
}
