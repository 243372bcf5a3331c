/** SQLite stores a type with each value: verify compares it, and a repair writes it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { told, verifyTree } from '../../../test/fakes/verify.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { openDuckdb } from '../../lib/sql/duckdb.ts';
import type { JsonObject } from '../../lib/text/json.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-stored-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
let here: string;
let there: string;
beforeEach(() => {
  files += 1;
  here = join(folder, `here${files}.db`);
  there = join(folder, `there${files}.db`);
});

function ask(path: string, sql: string): unknown[] {
  const db = new DatabaseSync(path);
  try {
    if (sql.startsWith('SELECT'))
      return db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    db.exec(sql);
    return [];
  } finally {
    db.close();
  }
}

const document = (): JsonObject => ({
  pipeline: {
    source: { type: 'sqlite', config: { database_url: here, query: 'SELECT * FROM t' } },
    sink: {
      type: 'sqlite',
      config: {
        database_url: there,
        table_name: 't',
        column_mapping: 'auto_map',
        write_mode: 'upsert',
        key: ['id'],
      },
    },
  },
});

const ROWS = 'SELECT id, typeof(id) AS k, v, typeof(v) AS type FROM t ORDER BY 1';
const repair = () => verifyTree(document(), { repair: true, allowDelete: true });

describe('between SQLite files', () => {
  it.each([
    ["'1.10'", '1.1'],
    ["'1.10'", "'1.1'"],
    ["'1'", '1'],
    ['2', '2.0'],
    ["x'6869'", "'hi'"],
    ["x'6869'", "'aGk='"],
    ["'null'", 'NULL'],
    ['\'{"a": 1}\'', '\'{"a":1}\''],
    ['1e300', "'1e300'"],
  ])('%s and %s are two values, and a repair writes the first', async (one, other) => {
    for (const [path, value] of [
      [here, one],
      [there, other],
    ] as const)
      ask(path, `CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, ${value})`);
    expect(told((await verifyTree(document())).differences)).toEqual(['changed {"id":1} v']);
    expect(await repair()).toMatchObject({ repaired_upserts: 1 });
    expect(ask(there, ROWS)).toEqual(ask(here, ROWS));
    expect((await verifyTree(document())).differences).toEqual([]);
  });

  it('equal values are equal, and so are two spellings of one moment', async () => {
    const values = "(1, '1.10'), (2, 1.5), (3, x'00'), (4, NULL), (5, 9007199254740993)";
    for (const [path, moment] of [
      [here, '2024-05-06 07:08:09+00:00'],
      [there, '2024-05-06T07:08:09Z'],
    ] as const)
      ask(
        path,
        `CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES ${values}, (6, '${moment}')`,
      );
    expect((await verifyTree(document())).differences).toEqual([]);
  });

  it('a column that stores its values in another way is compared by what they mean', async () => {
    ask(here, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, '1.50')");
    ask(there, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v REAL); INSERT INTO t VALUES (1, 1.5)');
    expect((await verifyTree(document())).differences).toEqual([]);
  });

  it('texts that look like numbers are keys of their own', async () => {
    ask(
      here,
      "CREATE TABLE t (id TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('1e5', 'a'), ('007', 'b'), ('100000', 'c')",
    );
    ask(
      there,
      "CREATE TABLE t (id TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('1e5', 'old'), ('7', 'extra'), ('1e6', 'extra'), ('true', 'extra')",
    );
    expect(told((await verifyTree(document())).differences)).toEqual([
      'changed {"id":100000} v',
      'extra_in_dest {"id":1000000} ',
      'extra_in_dest {"id":7} ',
      'extra_in_dest {"id":true} ',
      'missing_in_dest {"id":"007"} ',
      'missing_in_dest {"id":100000} ',
    ]);
    expect(await repair()).toMatchObject({ repaired_upserts: 3, repaired_deletes: 3 });
    expect(ask(there, ROWS)).toEqual(ask(here, ROWS));
  });
});

it('what only a SQLite file has is deleted, whatever its key looks like', async () => {
  ask(here, 'CREATE TABLE t (id TEXT PRIMARY KEY, v)');
  ask(
    there,
    "CREATE TABLE t (id TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('1e5', 'extra'), ('[1]', 'extra')",
  );
  const { repaired_deletes: deleted } = await repair();
  expect([deleted, ask(there, ROWS)]).toEqual([2, []]);
});

it('a repair writes numbers as they were spelled, also inside values, and zero with its sign', async () => {
  const lines = join(folder, 'spelled.jsonl');
  writeFileSync(lines, '{"id":1,"o":{"price":1.10,"list":[1.0,-0.0]},"z":-0.0}\n');
  const path = join(folder, 'spelled.duckdb');
  const config = { database: path, table_name: 't', write_mode: 'upsert', key: ['id'] };
  const tree = {
    pipeline: {
      source: { type: 'jsonl', config: { path: lines } },
      sink: { type: 'duckdb', config: { ...config, column_mapping: 'auto_map' } },
    },
  };
  const asked = async (sql: string) => {
    const { connection, close } = await openDuckdb(path);
    try {
      return (await connection.runAndReadAll(sql)).getRows();
    } finally {
      close();
    }
  };
  await asked('CREATE TABLE t (id BIGINT PRIMARY KEY, o VARCHAR, z DOUBLE)');
  expect(await verifyTree(tree, { repair: true })).toMatchObject({ repaired_upserts: 1 });
  expect(await asked('SELECT o, z::VARCHAR FROM t')).toEqual([
    ['{"price":1.10,"list":[1.0,-0.0]}', '-0.0'],
  ]);
});

it('a repair of PostgreSQL writes values of its types', async () => {
  const database = await freshDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const columns =
      'id int PRIMARY KEY, b bytea, j jsonb, f double precision, tags text[], at timestamptz';
    await client.query(`CREATE TABLE here (${columns}); CREATE TABLE there (${columns});
      INSERT INTO here VALUES (1, '\\x00ff', 'null', '-0', '{a}', 'infinity'), (2, '\\x', '"{}"', 'NaN', '{}', now());
      INSERT INTO there VALUES (1)`);
    const connection = { connection_url: database.url };
    const config = {
      table_name: 'there',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['id'],
    };
    const tree = {
      pipeline: {
        source: { type: 'postgres', config: { ...connection, query: 'SELECT * FROM here' } },
        sink: { type: 'postgres', config: { ...connection, ...config } },
      },
    };
    await verifyTree(tree, { repair: true });
    const { rows } = await client.query(
      '(SELECT t::text FROM here AS t EXCEPT SELECT t::text FROM there AS t)',
    );
    expect(rows).toEqual([]);
  } finally {
    await client.end();
    await database.drop();
  }
});
