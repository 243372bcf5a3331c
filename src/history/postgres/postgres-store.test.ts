import { Client } from 'pg';
import { afterAll, expect, it } from 'vitest';
import { aGain } from '../../../test/conformance/catalog.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { CATALOG_TABLES } from '../sql/migrations/catalog-tables.ts';
import { PostgresStore } from './postgres-store.ts';
import { makeTables } from './tables.ts';
import { SqlCatalog } from '../sql/sql-catalog.ts';

const database = await freshDatabase();
afterAll(() => database.drop());

it('gives up on tables that another session has locked, and continues when they are free', async () => {
  const store = await PostgresStore.open(database.url, { statementTimeoutMs: 50 });
  await makeTables(store, CATALOG_TABLES);
  const catalog = new SqlCatalog(store);
  const movement = { datasets: [aGain('a')], edges: [], points: [] };
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query('BEGIN; LOCK TABLE svc_catalog_datasets IN ACCESS EXCLUSIVE MODE');
    await expect(catalog.addMovements(movement)).rejects.toMatchObject({
      code: 'history_unavailable',
      message: expect.stringContaining('statement timeout') as string,
    });
    await other.query('ROLLBACK');
    await catalog.addMovements(movement);
    expect(await catalog.getDataset('a')).toMatchObject({ runs: 1 });
  } finally {
    await other.end();
    await store.close();
  }
});

it('a deferred write goes with the next one, and alone where none comes', async () => {
  const store = await PostgresStore.open(database.url);
  const insert = { sql: 'INSERT INTO numbered DEFAULT VALUES', values: [] };
  const transactions = async (): Promise<readonly unknown[]> =>
    (await store.read('SELECT DISTINCT transaction FROM numbered', [])).map((row) => row);
  try {
    const table = 'CREATE TABLE numbered (transaction bigint DEFAULT txid_current())';
    await store.write([{ sql: table, values: [] }]);
    const touches: readonly string[] = [];
    const deferred = store.writeDeferred([insert], { touches });
    await store.write([insert], { touches });
    await deferred;
    expect(await transactions()).toHaveLength(1);
    await store.writeDeferred([insert], { touches });
    expect(await transactions()).toHaveLength(2);
    void store.writeDeferred([insert], { touches });
    expect(await transactions()).toHaveLength(3);
  } finally {
    await store.close();
  }
});
