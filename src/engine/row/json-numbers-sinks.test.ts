/** Numbers of JSON keep their digits in the columns that sinks create, whatever the lane. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { duckdbSink } from '../../connectors/duckdb/index.ts';
import { jsonlSource } from '../../connectors/jsonl/index.ts';
import { parquetSink } from '../../connectors/parquet/index.ts';
import { postgresSink } from '../../connectors/postgres/index.ts';
import { sqliteSink } from '../../connectors/sqlite/index.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { SinkDefinition } from '../../kit/sink.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-json-numbers-'));
let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const LINES = [
  '{"whole":1,"float":1.0,"digits":0.12345678901234567890,"doc":{"x":[1.10]}}',
  '{"whole":2,"float":3,"digits":1.50,"doc":{"x":[2.0,0.12345678901234567890]}}',
];

function parsed(definition: { readonly config: ZodType }, config: unknown): never {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

async function move(definition: SinkDefinition, config: object, lane: Lane): Promise<void> {
  const path = join(folder, 'in.jsonl');
  writeFileSync(path, `${LINES.join('\n')}\n`);
  const source = await jsonlSource.open(parsed(jsonlSource, { path }), testContext(folder));
  const sink = await definition.open(parsed(definition, config), testContext(folder));
  for await (const page of source.pages({ lane })) await sink.write(page, { partial: false });
  await sink.flush();
  await sink.finish('success');
  await sink.close();
}

async function duckdbRows(query: string, path?: string): Promise<unknown> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(query)).getRowsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

const LANES = [['records', RECORDS_LANE] as const, ['columns', COLUMNS_LANE] as const];

test.each(LANES)('PostgreSQL, read as %s', async (name, lane) => {
  const table = `n_${name}`;
  await move(
    postgresSink,
    { connection_url: database.url, table_name: table, column_mapping: 'auto_map' },
    lane,
  );
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ v: string }>(
    `SELECT concat_ws(' ', whole, float, digits, doc, pg_typeof(whole), pg_typeof(float), pg_typeof(digits)) AS v FROM ${table} ORDER BY whole`,
  );
  await client.query(
    `CREATE TABLE own_${name} (whole jsonb, float bigint, digits numeric, doc text)`,
  );
  await move(
    postgresSink,
    { connection_url: database.url, table_name: `own_${name}`, column_mapping: 'auto_map' },
    lane,
  );
  const own = await client.query<{ v: string }>(
    `SELECT concat_ws(' ', whole, float, digits, doc) AS v FROM own_${name}`,
  );
  await client.end();
  expect(rows.map(({ v }) => v)).toEqual([
    '1 1 0.12345678901234567890 {"x": [1.10]} bigint double precision text',
    '2 3 1.5 {"x": [2.0, 0.12345678901234567890]} bigint double precision text',
  ]);
  expect(own.rows.map(({ v }) => v)).toEqual([
    '1 1 0.12345678901234567890 {"x":[1.10]}',
    '2 3 1.5 {"x":[2.0,0.12345678901234567890]}',
  ]);
});

test.each(LANES)('SQLite, read as %s', async (name, lane) => {
  const path = join(folder, `${name}.db`);
  await move(sqliteSink, { database_url: path, table_name: 't', column_mapping: 'auto_map' }, lane);
  const db = new DatabaseSync(path);
  const rows = db
    .prepare(
      "SELECT whole || ' ' || typeof(whole) || ' ' || float || ' ' || typeof(float) || ' ' || digits || ' ' || doc AS v FROM t",
    )
    .all();
  db.close();
  expect(rows.map(({ v }) => v)).toEqual([
    '1 integer 1.0 real 0.12345678901234567890 {"x":[1.10]}',
    '2 integer 3.0 real 1.5 {"x":[2.0,0.12345678901234567890]}',
  ]);
});

test.each(LANES)('DuckDB, read as %s', async (name, lane) => {
  const path = join(folder, `${name}.duckdb`);
  await move(duckdbSink, { database: path, table_name: 't', column_mapping: 'auto_map' }, lane);
  expect(
    await duckdbRows(
      'SELECT whole, typeof(whole), float, typeof(float), digits, doc::VARCHAR FROM t ORDER BY whole',
      path,
    ),
  ).toEqual([
    ['1', 'BIGINT', 1, 'DOUBLE', '0.12345678901234567890', '{"x":[1.10]}'],
    ['2', 'BIGINT', 3, 'DOUBLE', '1.50', '{"x":[2.0,0.12345678901234567890]}'],
  ]);
});

test.each(LANES)('Parquet, read as %s', async (name, lane) => {
  const path = join(folder, `${name}.parquet`);
  await move(parquetSink, { destination: { type: 'local_path', path } }, lane);
  expect(readFileSync(path).length).toBeGreaterThan(0);
  expect(
    await duckdbRows(
      `SELECT whole, typeof(whole), float, typeof(float), digits, doc FROM '${path}' ORDER BY whole`,
    ),
  ).toEqual([
    ['1', 'BIGINT', 1, 'DOUBLE', '0.12345678901234567890', { x: ['1.10'] }],
    ['2', 'BIGINT', 3, 'DOUBLE', '1.50', { x: ['2.0', '0.12345678901234567890'] }],
  ]);
});
