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
