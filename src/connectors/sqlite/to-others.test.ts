/** Columns that other systems make of those of a SQLite table. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { duckdbRows, openDuckdb } from '../../lib/sql/duckdb.ts';
import type { JsonObject } from '../../lib/text/json.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-sqlite-others-'));
  const db = new DatabaseSync(join(folder, 'a.db'));
  // The first pages hold whole numbers only.
  db.exec(`CREATE TABLE t (id INTEGER, x REAL, b BLOB, u);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO t SELECT i, CASE WHEN i < 2500 THEN i ELSE i + 0.5 END, x'00ff', 0.0 FROM n`);
  db.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function copy(sink: JsonObject, transforms: JsonObject[] = []): Promise<void> {
  const query = 'SELECT * FROM t ORDER BY id';
  const source = { type: 'sqlite', config: { database_url: join(folder, 'a.db'), query } };
  const plan = planOfTree({ pipeline: { source, transforms, sink } });
  const { invocations } = await run(plan);
  expect(invocations.map(({ error }) => error)).toEqual([null]);
}

async function ask(path: string, sql: string): Promise<JsonObject[]> {
  const { connection, close } = await openDuckdb(path);
  try {
    return await duckdbRows(connection, sql);
  } finally {
    close();
  }
}

const MADE = [{ x: 'DOUBLE', b: 'BLOB', sum: 4_501_750.5 }];
const LOOK = 'SELECT typeof(any_value(x)) AS x, typeof(any_value(b)) AS b, sum(x) AS sum FROM';

test('reals and blobs stay what they are in a table of duckdb', async () => {
  const path = join(folder, 'd.duckdb');
  const config = {
    database: path,
    table_name: 't',
    create_table: true,
    column_mapping: 'auto_map',
  };
  await copy({ type: 'duckdb', config });
  expect(await ask(path, `${LOOK} t`)).toEqual(MADE);
});

test('reals and blobs stay what they are in a Parquet file', async () => {
  const path = join(folder, 't.parquet');
  const select = { type: 'select', config: { fields: ['id', 'x', 'b'] } };
  await copy({ type: 'parquet', config: { destination: { type: 'local_path', path } } }, [select]);
  expect(await ask(':memory:', `${LOOK} '${path}'`)).toEqual(MADE);
});

test('what a query of `sql` only hands on is stored as it was', async () => {
  const path = join(folder, 'copy.db');
  const config = {
    database_url: path,
    table_name: 't',
    create_table: true,
    column_mapping: 'auto_map',
  };
  await copy({ type: 'sqlite', config }, [
    { type: 'sql', config: { query: 'SELECT * FROM batch' } },
  ]);
  const db = new DatabaseSync(path, { readOnly: true });
  const kinds = db
    .prepare(
      'SELECT DISTINCT typeof(id) AS id, typeof(x) AS x, typeof(b) AS b, typeof(u) AS u FROM t',
    )
    .all();
  db.close();
  expect(kinds).toEqual([{ id: 'integer', x: 'real', b: 'blob', u: 'real' }]);
});
