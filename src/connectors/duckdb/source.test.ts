import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDuckdb } from '../../lib/sql/duckdb.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { check } from '../../kit/schema.ts';
import type { SourceContext } from '../../kit/context.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { duckdbSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'duckdb-source-'));

beforeAll(async () => {
  const { connection, close } = await openDuckdb(join(folder, 'a.duckdb'));
  await connection.run(
    "CREATE TABLE many AS SELECT i AS id, 'n' || i AS name FROM range(1, 26) t(i)",
  );
  await connection.run('CREATE SCHEMA sales');
  await connection.run('CREATE TABLE sales.orders (id BIGINT NOT NULL, amount DECIMAL(10, 2))');
  close();
});

async function read(
  config: JsonObject,
  changes: Partial<SourceContext> = {},
  request: { limit?: number } = {},
) {
  const checked = check(duckdbSource.config, { database: 'a.duckdb', read_only: true, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return readAll(await duckdbSource.open(checked.value, testContext(folder, changes)), request);
}

async function records(
  config: JsonObject,
  changes: Partial<SourceContext> = {},
): Promise<JsonValue[]> {
  return (await read(config, changes)).flatMap((page) => [...page.records()]);
}

async function one(select: string): Promise<JsonValue> {
  const [record] = await records({ query: `SELECT ${select} AS v` });
  return (record as JsonObject)['v'] ?? null;
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof ConnectorError ? error.kind : 'other'),
  );
}

describe('the duckdb source', () => {
  test.each<[string, JsonValue]>([
    ['9007199254740993', 9_007_199_254_740_993n],
    ['170141183460469231731687303715884105727::HUGEINT', 2n ** 127n - 1n],
    ['18446744073709551615::UBIGINT', 2n ** 64n - 1n],
    [
      '12345678901234567890123456789.012345678::DECIMAL(38, 9)',
      '12345678901234567890123456789.012345678',
    ],
    ['1.10::DECIMAL(5, 2)', '1.10'],
    ['0.1::FLOAT', 0.1],
    ["'nan'::DOUBLE", 'NaN'],
    ["DATE '2024-02-29'", '2024-02-29'],
    ["TIME '01:02:03.5'", '01:02:03.5'],
    ["TIMESTAMP '2024-02-29 01:02:03.5'", '2024-02-29T01:02:03.5'],
    ["TIMESTAMPTZ '2024-02-29 01:02:03.5+02:00'", '2024-02-28T23:02:03.5Z'],
    ["TIMESTAMP_NS '2024-02-29 01:02:03.123456789'", '2024-02-29T01:02:03.123456789'],
    ["TIMESTAMP 'infinity'", 'infinity'],
    ["'\\x00\\xFF'::BLOB", 'AP8='],
    ["UUID '0190b1c2-0000-7000-8000-000000000000'", '0190b1c2-0000-7000-8000-000000000000'],
    ['INTERVAL 1 DAY', '1 day'],
    ["'b'::ENUM('a', 'b')", 'b'],
    ['true', true],
    ['[1, NULL, 9007199254740993]', [1, null, 9_007_199_254_740_993n]],
    ['[1.5, 2.5]::DOUBLE[2]', [1.5, 2.5]],
    [
      "{'a': 1.50::DECIMAL(4, 2), 'b': {'at': DATE '2024-01-01'}}",
      { a: '1.50', b: { at: '2024-01-01' } },
    ],
    ["MAP {'k': [1], 'l': NULL}", { k: [1], l: null }],
    ["MAP {7: 'x'}", { 7: 'x' }],
    ['union_value(num := 2)', { num: 2 }],
    [`'{"a": [12345678901234567890]}'::JSON`, { a: [12345678901234567890n] }],
    ["'123'", '123'],
    ['NULL', null],
  ])('%s is read exactly', async (select, expected) => {
    expect(await one(select)).toEqual(expected);
  });

  test('a query is one statement that reads', async () => {
    expect(await records({ query: 'SELECT 1 AS a; -- one; only\n /* ; */ ;' })).toEqual([{ a: 1 }]);
    await expect(records({ query: 'SELECT 1 AS a; SELECT 2 AS b' })).rejects.toThrow(
      'the query holds more than one statement',
    );
    await expect(records({ query: 'SELECT 1 AS a, 2 AS a' })).rejects.toThrow(
      'the query gives two columns called "a"',
    );
    expect(await kindOf(read({ query: 'DELETE FROM many' }))).toBe('refused');
    expect(await kindOf(read({ query: "COPY many TO 'x.csv'" }))).toBe('refused');
    expect(existsSync('x.csv')).toBe(false);
  });

  test('pages are bounded by records and bytes, and end where nobody wants more', async () => {
    const counts = async (config: JsonObject, changes = {}, request = {}) =>
      (await read({ query: 'SELECT * FROM many', ...config }, changes, request)).map(
        (page) => page.count,
      );
    expect(await counts({ batch_size: 10 })).toEqual([10, 10, 5]);
    expect(await counts({ batch_size: 0 })).toEqual([25]);
    expect(await counts({}, { pageBytes: 1 })).toHaveLength(25);
    expect(await counts({ batch_size: 10 }, {}, { limit: 12 })).toEqual([10, 2]);
  });

  test('placeholders bind fields of the parent record as parameters', async () => {
    const parent = { id: 3, who: { name: "n4' OR 1=1" }, tags: ['n5'] };
    expect(
      await records(
        { query: "SELECT id FROM many WHERE id = {id} OR name = '{who.name}'" },
        { parent },
      ),
    ).toEqual([{ id: 3 }]);
    expect(await records({ query: "SELECT {'a': {id}} AS s" }, { parent })).toEqual([
      { s: { a: 3 } },
    ]);
    expect(await kindOf(read({ query: 'SELECT {id}' }))).toBe('missing');
    expect(await kindOf(read({ query: 'SELECT {id}' }, { parent: { other: 1 } }))).toBe('missing');
  });

  test('failures have a kind, and a missing file is not made', async () => {
    expect(
      await kindOf(read({ query: 'SELECT 1', database: 'none.duckdb', read_only: false })),
    ).toBe('missing');
    expect(existsSync(join(folder, 'none.duckdb'))).toBe(false);
    expect(await kindOf(read({ query: 'SELECT * FROM none' }))).toBe('missing');
    expect(await kindOf(read({ query: 'SELECT none FROM many' }))).toBe('missing');
    expect(await kindOf(read({ query: 'SELEC' }))).toBe('data');
    expect(await kindOf(read({ query: 'SELECT CAST(name AS BIGINT) FROM many' }))).toBe('data');
  });

  test('a fired signal ends the reading, also while the engine is at work', async () => {
    await expect(
      read({ query: 'SELECT * FROM many' }, { signal: AbortSignal.abort(new Error('stop')) }),
    ).rejects.toThrow('stop');
    const stop = new AbortController();
    const work = read(
      {
        query:
          'SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3',
      },
      { signal: stop.signal },
    );
    setImmediate(() => stop.abort(new Error('stop now')));
    await expect(work).rejects.toThrow('stop now');
  });

  test('every discovered table can be read with its patch', async () => {
    const checked = check(duckdbSource.config, {
      database: 'duckdb:a.duckdb',
      query: 'SELECT 1',
      read_only: true,
    });
    if (!checked.ok) throw new Error('config');
    const found = (await duckdbSource.discover?.(checked.value, testContext(folder))) ?? [];
    expect(found.map(({ name, estimated_rows: rows }) => [name, rows])).toEqual([
      ['many', 25],
      ['sales.orders', 0],
    ]);
    expect(found[1]?.schema).toEqual({
      type: 'object',
      properties: { id: { type: 'integer' }, amount: { type: ['string', 'null'] } },
    });
    expect(await records(found[0]?.config_patch ?? {})).toHaveLength(25);
    expect(await records(found[1]?.config_patch ?? {})).toHaveLength(0);
  });
});
