/** Arrays of PostgreSQL on their way to other systems and back. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDuckdb } from '../../src/lib/sql/duckdb.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import { load } from '../fakes/documents.ts';
import { run } from '../fakes/engine.ts';
import { parts } from '../../src/parts.ts';
import { freshDatabase } from '../servers/postgres.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-arrays-'));
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`CREATE TYPE mood AS ENUM ('sad', 'ok');
    CREATE TABLE held (id int, words text[], numbers bigint[], bytes bytea[], days date[],
      moments timestamptz[], sums numeric(8,2)[], ids uuid[], flags bool[], moods mood[], pair int4range);
    INSERT INTO held VALUES (1, '{a,"b c",NULL,"NULL"}', '{9007199254740993,NULL}', ARRAY['\\x00ff'::bytea],
      '{2024-05-06}', '{"2024-05-06 07:08:09.5+02"}', '{1.10,-2.00}', '{00112233-4455-6677-8899-aabbccddeeff}',
      '{t,f}', '{sad,ok}', '[1,5)'), (2, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 'empty');
    INSERT INTO held VALUES (3)`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function move(
  source: JsonObject,
  sink: JsonObject,
  transforms: readonly JsonObject[] = [],
): Promise<void> {
  const document = { version: 1, name: 'move', pipeline: { source, transforms, sink } };
  const plan = planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
  const outcome = await run(plan);
  const [invocation] = outcome.invocations;
  if (invocation?.error !== null)
    throw new Error(`${invocation?.error.message} (${invocation?.error.hint})`);
}

const held = () => ({
  type: 'postgres',
  config: { connection_url: database.url, query: 'SELECT * FROM held ORDER BY id' },
});

async function duckdb(path: string, query: string): Promise<unknown[][]> {
  const { connection, close } = await openDuckdb(path);
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return (await connection.runAndReadAll(query)).getRowsJson();
  } finally {
    close();
  }
}

const COLUMNS = 'words, numbers, bytes, days, moments, sums, ids, flags, moods, pair'.split(', ');
const TEXTS = COLUMNS.map((name) => `CAST(${name} AS VARCHAR)`).join(', ');
const TYPES = COLUMNS.map((name) => `typeof(${name})`).join(', ');
const LISTS = {
  types: [
    'VARCHAR[]',
    'BIGINT[]',
    'BLOB[]',
    'DATE[]',
    'TIMESTAMP WITH TIME ZONE[]',
    'DECIMAL(8,2)[]',
    'UUID[]',
    'BOOLEAN[]',
    'VARCHAR[]',
    'VARCHAR',
  ],
  rows: [
    [
      "[a, b c, NULL, 'NULL']",
      '[9007199254740993, NULL]',
      '[\\x00\\xFF]',
      '[2024-05-06]',
      "['2024-05-06 05:08:09.5+00']",
      '[1.10, -2.00]',
      '[00112233-4455-6677-8899-aabbccddeeff]',
      '[true, false]',
      '[sad, ok]',
      '[1,5)',
    ],
    ['[]', '[]', '[]', '[]', '[]', '[]', '[]', '[]', '[]', 'empty'],
    COLUMNS.map(() => null),
  ],
};

/** The rows of the table, as the server writes them. */
async function rowsOf(table: string): Promise<unknown[]> {
  const { rows } = await client.query(`SELECT t::text AS row FROM ${table} AS t ORDER BY id`);
  return rows;
}

test('they are lists in DuckDB, and arrays again on their way back', async () => {
  const path = join(folder, 'a.duckdb');
  await move(held(), {
    type: 'duckdb',
    config: { database: path, table_name: 'held', column_mapping: 'auto_map' },
  });
  expect({
    types: (await duckdb(path, `SELECT ${TYPES} FROM held`))[0],
    rows: await duckdb(path, `SELECT ${TEXTS} FROM held ORDER BY id`),
  }).toEqual(LISTS);
  await client.query('CREATE TABLE back (LIKE held)');
  const source = { type: 'duckdb', config: { database: path, query: 'SELECT * FROM held' } };
  const config = { connection_url: database.url, column_mapping: 'auto_map' };
  await move(source, { type: 'postgres', config: { ...config, table_name: 'back' } });
  expect(await rowsOf('back')).toEqual(await rowsOf('held'));
  await move(source, { type: 'postgres', config: { ...config, table_name: 'made' } });
  const { rows } = await client.query<{ type: string }>(
    `SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = 'made'::regclass AND attnum > 1 ORDER BY attnum`,
  );
  expect(rows.map(({ type }) => type)).toEqual([
    'text[]',
    'bigint[]',
    'bytea[]',
    'date[]',
    'timestamp with time zone[]',
    'numeric(8,2)[]',
    'uuid[]',
    'boolean[]',
    'text[]',
    'text',
  ]);
  expect(await rowsOf('made')).toEqual(await rowsOf('held'));
});

test('they are lists in Parquet', async () => {
  const path = join(folder, 'a.parquet');
  await move(held(), { type: 'parquet', config: { destination: { type: 'local_path', path } } });
  expect({
    types: (await duckdb(':memory:', `SELECT ${TYPES} FROM '${path}'`))[0],
    rows: await duckdb(':memory:', `SELECT ${TEXTS} FROM '${path}' ORDER BY id`),
  }).toEqual(LISTS);
});

test('they are arrays in JSON, and their text in SQLite', async () => {
  const [lines, path] = [join(folder, 'a.jsonl'), join(folder, 'a.sqlite')];
  const words = '["a","b c",null,"NULL"]';
  await move(held(), { type: 'jsonl', config: { path: lines } });
  const [line = ''] = (await readFile(lines, 'utf8')).split('\n');
  expect(line).toContain(`"words":${words},"numbers":[9007199254740993,null],"bytes":["AP8="]`);
  await move(held(), {
    type: 'sqlite',
    config: { database_url: path, table_name: 'held', column_mapping: 'auto_map' },
  });
  const written = new DatabaseSync(path);
  expect(written.prepare('SELECT words, numbers, typeof(words) AS type FROM held').get()).toEqual({
    words,
    numbers: '[9007199254740993,null]',
    type: 'text',
  });
  written.close();
});

interface Passage {
  readonly name: string;
  readonly to: (folder: string) => JsonObject;
  readonly from: (folder: string) => JsonObject;
}

const PASSAGES: readonly Passage[] = [
  {
    name: 'JSON Lines',
    to: (path) => ({ type: 'jsonl', config: { path: join(path, 'p.jsonl') } }),
    from: (path) => ({ type: 'jsonl', config: { path: join(path, 'p.jsonl') } }),
  },
  {
    name: 'SQLite',
    to: (path) => ({
      type: 'sqlite',
      config: {
        database_url: join(path, 'p.sqlite'),
        table_name: 'p',
        column_mapping: 'auto_map',
        write_mode: 'overwrite',
      },
    }),
    from: (path) => ({
      type: 'sqlite',
      config: { database_url: join(path, 'p.sqlite'), query: 'SELECT * FROM p' },
    }),
  },
];

const into = (name: string): JsonObject => ({
  type: 'postgres',
  config: { connection_url: database.url, table_name: name, column_mapping: 'auto_map' },
});

/** A stage that looks at records and changes none. */
const RECORDS = [{ type: 'filter', config: { path: 'id', op: 'ne', value: 77 } }];
const LANES = [
  { lane: 'columns', stages: [] },
  { lane: 'records', stages: RECORDS },
];

describe.each(PASSAGES)('through $name into a table that is there', ({ to, from }) => {
  test.each(LANES)('bytes are the same bytes as $lane', async ({ stages }) => {
    const path = await mkdtemp(join(folder, 'passage-'));
    await client.query(`DROP TABLE IF EXISTS here, there;
      CREATE TABLE here (id int, one bytea, many bytea[]);
      INSERT INTO here VALUES (1, '\\x6869', ARRAY['\\x00ff'::bytea, NULL, '\\x']), (2, '\\x', '{}'), (3, NULL, NULL);
      CREATE TABLE there (LIKE here)`);
    const query = 'SELECT * FROM here ORDER BY id';
    await move({ type: 'postgres', config: { connection_url: database.url, query } }, to(path));
    await move(from(path), into('there'), stages);
    expect(await rowsOf('there')).toEqual(await rowsOf('here'));
  });

  test.each(LANES)('documents keep the decimals of their numbers as $lane', async ({ stages }) => {
    const path = await mkdtemp(join(folder, 'passage-'));
    const lines = join(path, 'here.jsonl');
    await writeFile(lines, '{"id":1,"docs":[1.50,[1,2.0],{"a":[1.10]},"x"]}');
    await move({ type: 'jsonl', config: { path: lines } }, to(path));
    await client.query('DROP TABLE IF EXISTS there; CREATE TABLE there (id int, docs json[])');
    await move(from(path), into('there'), stages);
    const { rows } = await client.query<{ item: string }>(
      'SELECT item::text FROM there, unnest(docs) AS d(item)',
    );
    expect(rows.map(({ item }) => item)).toEqual(['1.50', '[1,2.0]', '{"a":[1.10]}', '"x"']);
  });
});

test.each(LANES)('items that are JSON lists or nulls stay such as $lane', async ({ stages }) => {
  await client.query(`DROP TABLE IF EXISTS here, there;
    CREATE TABLE here (id int, raw json[], docs jsonb[]);
    INSERT INTO here VALUES (1, ARRAY['[1,2.0]', 'null', NULL, '1.50']::json[], ARRAY['[1]', '[null]']::jsonb[]),
      (2, '{{1,2.0},{null,4}}', ARRAY[ARRAY['[1]'], ARRAY['null']]::jsonb[]);
    CREATE TABLE there (LIKE here)`);
  const query = 'SELECT * FROM here ORDER BY id';
  const source = { type: 'postgres', config: { connection_url: database.url, query } };
  await move(source, into('there'), stages);
  expect(await rowsOf('there')).toEqual(await rowsOf('here'));
});

test('a text that is neither base64 nor hexadecimal digits is refused for a column of bytes', async () => {
  const lines = join(folder, 'letters.jsonl');
  await client.query('DROP TABLE IF EXISTS there; CREATE TABLE there (one bytea)');
  const source = { type: 'jsonl', config: { path: lines } };
  await writeFile(lines, '{"one":"\\\\x00ff"}\n{"one":"AP8="}');
  await move(source, into('there'));
  expect((await client.query('SELECT DISTINCT one::text FROM there')).rows).toEqual([
    { one: '\\x00ff' },
  ]);
  await writeFile(lines, '{"one":"hello"}');
  await expect(move(source, into('there'))).rejects.toThrow('a value of `one` is not base64');
});

const SINKS = {
  duckdb: (path: string) => ({
    type: 'duckdb',
    config: { database: path, table_name: 'held', column_mapping: 'auto_map' },
  }),
  parquet: (path: string) => ({ type: 'file', config: { path, format: 'parquet' } }),
  avro: (path: string) => ({ type: 'file', config: { path, format: 'avro' } }),
};

describe.each(Object.entries(SINKS))('an array that %s has no form for', (name, sink) => {
  test.each([
    [`'{{1,2},{3,4}}'::int[]`, 'the field "v" holds an array of several dimensions'],
    [`'{{a},{b}}'::text[]`, 'the field "v" holds an array of several dimensions'],
    [`'[2:3]={5,6}'::int[]`, 'the field "v" holds an array that no list can say'],
    [`'{{1},{2}}'::json[]`, 'the field "v" holds an array that no list can say'],
  ])('is refused with what to do: %s', async (array, why) => {
    const path = join(await mkdtemp(join(folder, 'refused-')), `a.${name}`);
    const config = { connection_url: database.url, query: `SELECT ${array} AS v` };
    const failure: unknown = await move({ type: 'postgres', config }, sink(path)).catch(
      (error: unknown) => error,
    );
    expect(String(failure)).toContain(why);
    expect(String(failure)).toContain('`to_jsonb(column)`');
  });
});
