import { afterAll, describe, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { startFakeMssql } from '../../../test/servers/mssql.ts';
import type { Discovered } from '../../kit/source.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { Link } from '../_mssql/connection.ts';
import { mssqlSource } from './index.ts';

const server = await startFakeMssql();

async function run(...statements: readonly string[]): Promise<void> {
  const link = await Link.open({ connection_url: server.url }, { timeoutSecs: 30 });
  for (const statement of statements) await link.ask(statement);
  link.close();
}

function configOf(config: JsonObject) {
  const checked = check(mssqlSource.config, { connection_url: server.url, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function read(config: JsonObject, bookmark?: JsonObject): Promise<JsonObject[]> {
  const source = await mssqlSource.open(configOf(config), testContext('/'));
  try {
    const pages = await readAll(source, bookmark === undefined ? {} : { bookmark });
    return pages.flatMap((page) => page.records() as JsonObject[]);
  } finally {
    await source.close();
  }
}

afterAll(() => server.close());

describe('the mssql source', () => {
  test('parameters keep their types and digits', async () => {
    const query =
      'SELECT @P1 AS a, @P2 AS b, @P3 AS c, @P4 AS d, @P5 AS e WHERE @P1 = 9007199254740993';
    const params = [9_007_199_254_740_993n, 'x', 1.5, true, null];
    expect(await read({ query, params })).toEqual([
      { a: 9_007_199_254_740_993n, b: 'x', c: 1.5, d: true, e: null },
    ]);
  });

  test.each([
    ['SELECT 1, 2 AS b', 'column 1 of the query has no name'],
    ['SELECT 1 AS a, 2 AS a', 'two columns called "a"'],
    ['SELECT 1 AS a; SELECT 2 AS b', 'more than one result'],
    ['UPDATE nobody SET a = 1', 'nobody'],
  ])('%s is refused', async (query, message) => {
    await expect(read({ query })).rejects.toThrow(message);
  });

  test('a query that changes data and gives no rows is refused', async () => {
    await run('CREATE TABLE changed (id INT)');
    await expect(read({ query: 'UPDATE changed SET id = 1' })).rejects.toThrow('gives no rows');
  });

  test('rows that come later with the last value are read, and no others', async () => {
    await run(
      'CREATE TABLE later (id INT, at DATETIME2(7))',
      "INSERT INTO later SELECT 1, CAST(N'2024-05-06T07:08:09.1234567' AS datetime2(7))",
    );
    const config = {
      query: 'SELECT * FROM later ORDER BY id',
      replication: { type: 'incremental', column: 'AT', initial_value: '2024-01-01T00:00:00' },
    };
    const source = await mssqlSource.open(configOf(config), testContext('/'));
    const pages = await readAll(source, {});
    await source.close();
    const bookmark = pages.at(-1)?.bookmark as JsonObject;
    expect(bookmark['value']).toBe('2024-05-06T07:08:09.1234567');
    await run(
      "INSERT INTO later SELECT 2, CAST(N'2024-05-06T07:08:09.1234567' AS datetime2(7))",
      "INSERT INTO later SELECT 3, CAST(N'2024-05-06T07:08:09.1234566' AS datetime2(7))",
    );
    expect((await read(config, bookmark)).map(({ id }) => id)).toEqual([2]);
  });

  test('tables are found with their columns, and each can be read', async () => {
    await run('CREATE TABLE [odd]] name] ([a b] INT NOT NULL, d DECIMAL(8,2), t BIT)');
    await server.behind.query('INSERT INTO dbo."odd] name" VALUES (1, 2.5, true)');
    await server.behind.query('ANALYZE dbo."odd] name"');
    const found =
      (await mssqlSource.discover?.(configOf({ query: 'SELECT 1 AS a' }), testContext('/'))) ?? [];
    const odd = found.find(({ name }) => name === 'dbo.odd] name') as Discovered;
    expect(odd).toEqual({
      name: 'dbo.odd] name',
      kind: 'table',
      estimated_rows: 1,
      schema: {
        type: 'object',
        properties: {
          'a b': { type: 'integer' },
          d: { type: ['number', 'null'] },
          t: { type: ['boolean', 'null'] },
        },
      },
      config_patch: { query: 'SELECT * FROM [dbo].[odd]] name]' },
    });
    expect(await read(odd.config_patch)).toEqual([{ 'a b': 1, d: '2.50', t: true }]);
  });

  test('sizes that the user may not read are left out', async () => {
    server.watch((statement) => (statement.includes('dm_db_partition_stats') ? 262 : undefined));
    const config = configOf({ query: 'SELECT 1 AS a' });
    await run('CREATE TABLE alone (id INT)');
    const found = await mssqlSource.discover?.(config, testContext('/'));
    server.watch(undefined);
    expect(
      found?.some(({ name, estimated_rows: rows }) => name === 'dbo.alone' && rows === undefined),
    ).toBe(true);
  });

  test('a statement that gives no answer in time is ended', async () => {
    const config = { query: 'SELECT 1 AS a FROM pg_sleep(20) AS f', statement_timeout_secs: 1 };
    await expect(read(config)).rejects.toMatchObject({ kind: 'timeout' });
  });

  test('a table that is much larger than what is held is read in its pages', async () => {
    const query = 'SELECT n AS id FROM generate_series(1, 20000) AS g (n)';
    const source = await mssqlSource.open(configOf({ query, batch_size: 700 }), testContext('/'));
    const pages = await readAll(source, {});
    await source.close();
    const ids = pages.flatMap((page) => (page.records() as JsonObject[]).map(({ id }) => id));
    expect([pages.length, ids.length, ids[0], ids.at(-1)]).toEqual([29, 20_000, 1, 20_000]);
  });
});
