/** The zero below zero is a value of its own in every format and database that has one. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDuckdb } from '../../src/lib/sql/duckdb.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { move } from '../fakes/move.ts';
import { freshDatabase } from '../servers/postgres.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-zero-'));
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`CREATE TABLE zeros (id int, d float8, r real, l float8[]);
    INSERT INTO zeros VALUES (1, '-0', '-0', '{-0,1}')`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function inDuckdb(path: string, columns = 'id, d, r, l'): Promise<unknown> {
  const { connection, close } = await openDuckdb(path);
  try {
    const query = `SELECT COLUMNS(*)::VARCHAR FROM (SELECT ${columns} FROM zeros)`;
    return (await connection.runAndReadAll(query)).getRows();
  } finally {
    close();
  }
}

const zeros = (): JsonObject => ({
  type: 'postgres',
  config: { connection_url: database.url, query: 'SELECT * FROM zeros' },
});
const duckdbTable = (path: string): JsonObject => ({
  type: 'duckdb',
  config: { database: path, table_name: 'zeros', column_mapping: 'auto_map', create_table: true },
});
const fileAs = (format: string): JsonObject => ({
  type: 'file',
  config: { path: join(folder, `zeros.${format}`), format },
});
/** A stage that looks at records and changes none. */
const RECORDS = [{ type: 'filter', config: { path: 'id', op: 'ne', value: 77 } }];

test.each([{ stages: [] }, { stages: RECORDS }])(
  'it is written to JSON Lines as it is, with stages $stages',
  async ({ stages }) => {
    const path = join(folder, `lines-${stages.length}.jsonl`);
    await move(zeros(), { type: 'jsonl', config: { path } }, stages);
    expect(await readFile(path, 'utf8')).toBe('{"id":1,"d":-0.0,"r":-0.0,"l":[-0.0,1]}\n');
  },
);

test.each(['json_lines', 'parquet', 'avro'])('it comes through %s to DuckDB', async (format) => {
  const path = join(folder, `${format}.duckdb`);
  await move(zeros(), fileAs(format));
  await move(fileAs(format), duckdbTable(path));
  expect(await inDuckdb(path, 'id, d, r')).toEqual([['1', '-0.0', '-0.0']]);
});

test('lists keep it between PostgreSQL and DuckDB, in both directions', async () => {
  const path = join(folder, 'direct.duckdb');
  await move(zeros(), duckdbTable(path));
  expect(await inDuckdb(path)).toEqual([['1', '-0.0', '-0.0', '[-0.0, 1.0]']]);
  await move(
    { type: 'duckdb', config: { database: path, query: 'SELECT * FROM zeros' } },
    {
      type: 'postgres',
      config: { connection_url: database.url, table_name: 'back', column_mapping: 'auto_map' },
    },
  );
  const { rows } = await client.query('SELECT t::text AS row FROM back AS t');
  expect(rows).toEqual([{ row: '(1,-0,-0,"{-0,1}")' }]);
});

test('a SQLite column that converts nothing stores it', async () => {
  const path = join(folder, 'zeros.sqlite');
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE zeros (id, d, r, l)');
  const config = { database_url: path, table_name: 'zeros', column_mapping: 'auto_map' };
  await move(zeros(), { type: 'sqlite', config });
  expect(db.prepare('SELECT d, l FROM zeros').get()).toEqual({ d: -0, l: '[-0.0,1]' });
  db.close();
});
