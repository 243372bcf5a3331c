/** The source against the emulator of Google. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  sharedSpanner,
  type SpannerDatabase,
} from '../../../test/conformance/fixtures/shared-spanner.ts';
import { parsed } from '../../../test/fakes/parsed.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import type { Page } from '../../kit/page.ts';
import { readBookmark } from '../../kit/stored-bookmark.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { spannerSource } from './index.ts';

const spanner = sharedSpanner();

describe.skipIf(spanner.missing !== undefined)(spanner.missing ?? 'the source', () => {
  let database: SpannerDatabase;
  beforeAll(async () => {
    await spanner.start();
    database = await spanner.database(
      'CREATE TABLE t (id INT64, g INT64, ts TIMESTAMP, day DATE, price NUMERIC) PRIMARY KEY (id)',
    );
    const values = Array.from({ length: 20 }, (_, at) => [
      String(at),
      String(Math.floor(at / 6)),
      `2024-05-06T07:08:${String(at).padStart(2, '0')}.000000001Z`,
      '2024-05-06',
      `${at}.5`,
    ]);
    const columns = ['id', 'g', 'ts', 'day', 'price'];
    await database.write({ insert: { table: 't', columns, values } });
  }, 60_000);
  afterAll(() => spanner.stop());

  const pages = async (
    config: JsonObject,
    request: { bookmark?: JsonValue; limit?: number } = {},
  ): Promise<Page[]> => {
    const whole = parsed(spannerSource, { ...database.config, ...config });
    return readAll(await spannerSource.open(whole, testContext('/')), request);
  };
  const read = async (config: JsonObject, request = {}): Promise<JsonObject[]> =>
    (await pages(config, request)).flatMap((page) => page.records() as readonly JsonObject[]);
  const ids = (records: readonly JsonObject[]): unknown[] => records.map(({ id }) => id);
  const sorted = (records: readonly JsonObject[]): unknown[] =>
    ids(records).toSorted((one, other) => Number(one) - Number(other));
  const incremental = (column: string, initial_value: string | number): JsonObject => ({
    replication: { type: 'incremental', column, initial_value },
  });

  it('compares a text with what the query wants of it', async () => {
    const query =
      'SELECT id FROM t WHERE ts = @ts AND day = @day AND price = @price AND id < @most';
    const params = {
      ts: '2024-05-06T07:08:03.000000001Z',
      day: '2024-05-06',
      price: '3.5',
      most: 1000,
    };
    expect(await read({ query, params })).toEqual([{ id: 3 }]);
    expect(
      await read({ query: 'SELECT @none AS a, @yes AS b', params: { none: null, yes: true } }),
    ).toEqual([{ a: null, b: true }]);
  });

  it('reads on from each place among equal values, in whatever order they come', async () => {
    const config = { query: 'SELECT id, g FROM t', ...incremental('g', 0), batch_size: 4 };
    const all = await pages(config);
    expect(sorted(all.flatMap((page) => page.records() as JsonObject[]))).toHaveLength(20);
    const seen: JsonObject[] = [];
    for (const page of all) {
      seen.push(...(page.records() as JsonObject[]));
      const { bookmark } = page;
      if (bookmark === undefined) throw new Error('no bookmark');
      const rest = await read(config, { bookmark });
      expect(sorted([...seen, ...rest])).toEqual(Array.from({ length: 20 }, (_, at) => at));
    }
  });

  it('gives no bookmark among more equal values than it holds', async () => {
    const query = 'SELECT id, 1 AS g FROM UNNEST(GENERATE_ARRAY(1, 1010)) AS id';
    const config = { query, ...incremental('g', 0), batch_size: 1005 };
    expect((await pages(config)).map(({ bookmark }) => bookmark)).toEqual([undefined, 1]);
    const limited = await pages(config, { limit: 1003 });
    expect(limited.map(({ count, bookmark }) => [count, bookmark])).toEqual([[1003, undefined]]);
  });

  it.each([
    ['id', 5, 15],
    ['ts', '2024-05-06T07:08:05.000000001Z', 15],
    ['ts', '2024-05-06T07:08:05.000000002Z', 14],
    ['ts', '2024-05-06', 20],
    ['ts', '2024-05-06T09:08:05.000000001+02:00', 15],
    ['day', '2024-05-06', 20],
    ['day', '2024-05-07', 0],
  ])('begins at a value of the column %s: %s', async (column, initial, count) => {
    const found = await read({ query: 'SELECT * FROM t', ...incremental(column, initial) });
    expect(found).toHaveLength(count);
  });

  it('takes the bookmark into the query, as a text where one is wanted', async () => {
    const query = 'SELECT id, TS FROM t WHERE ts >= TIMESTAMP(@bookmark) AND ts >= @bookmark';
    const config = { query, ...incremental('ts', '2024-05-06T07:08:10Z') };
    const [page] = await pages(config);
    expect(page?.count).toBe(10);
    expect(readBookmark(page?.bookmark)?.value).toBe('2024-05-06T07:08:19.000000001Z');
    await database.write({
      insert: {
        table: 't',
        columns: ['id', 'ts'],
        values: [['99', '2024-05-06T07:08:19.000000001Z']],
      },
    });
    const bookmark = page?.bookmark ?? null;
    expect(ids(await read(config, { bookmark }))).toEqual([99]);
    await database.write({ delete: { table: 't', key_set: { keys: [['99']] } } });
  });

  it.each([
    ['price', 'the incremental column `price` is NUMERIC: it has to be INT64, TIMESTAMP or DATE'],
    ['nothing', 'the query gives no column `nothing`'],
  ])('refuses to read in the order of %s', async (column, message) => {
    await expect(read({ query: 'SELECT * FROM t', ...incremental(column, 0) })).rejects.toThrow(
      message,
    );
  });

  it.each([
    ['SELECT 1', 'column 1 of the query has no name'],
    ['SELECT 1 AS a, 2 AS a', 'two columns called "a"'],
    ['SELECT [STRUCT(1 AS a, 2 AS a)] AS s', 'two columns called "a"'],
    ['SELECT * FROM nobody', 'Table not found'],
    ['UPDATE t SET g = 1 WHERE id = 1', 'the query failed'],
  ])('refuses %s', async (query, message) => {
    await expect(read({ query })).rejects.toThrow(message);
  });

  it('reads the data of an earlier moment', async () => {
    const query = 'SELECT id FROM t';
    await expect(read({ query, exact_staleness_secs: 3600 })).rejects.toMatchObject({
      code: expect.stringMatching(/^connector_/) as string,
    });
    expect(await read({ query, exact_staleness_secs: 0 })).toHaveLength(20);
  });

  it('gives values in the forms of their types', async () => {
    const query = `SELECT [STRUCT([2.5, NULL] AS b)] AS deep, [STRUCT('x', 9007199254740993)] AS s,
      JSON '{"a": 1.50}' AS doc, JSON 'null' AS nothing, CAST('nan' AS FLOAT32) AS nan, CAST(0.1 AS FLOAT32) AS short,
      NUMERIC '-0.000000001' AS n, b'\\x00\\xff' AS bytes, TIMESTAMP '0001-01-01 00:00:00Z' AS first, ARRAY<INT64>[] AS empty,
      CAST(NULL AS ARRAY<INT64>) AS no_list`;
    const [record] = await read({ query });
    expect(record).toMatchObject({
      deep: [{ b: [2.5, null] }],
      s: [{ _1: 'x', _2: 9_007_199_254_740_993n }],
      nan: 'NaN',
      short: 0.1,
      n: '-0.000000001',
      bytes: 'AP8=',
      first: '0001-01-01T00:00:00Z',
      empty: [],
      no_list: null,
    });
  });

  it('lists the tables with their columns', async () => {
    const found = await spannerSource.discover?.(
      parsed(spannerSource, { ...database.config, query: 'SELECT 1 AS a' }),
      testContext('/'),
    );
    expect(found).toEqual([
      {
        name: 't',
        kind: 'table',
        schema: {
          type: 'object',
          properties: {
            id: { type: ['integer', 'null'] },
            g: { type: ['integer', 'null'] },
            ts: { type: ['string', 'null'] },
            day: { type: ['string', 'null'] },
            price: { type: ['string', 'null'] },
          },
        },
        config_patch: { query: 'SELECT * FROM `t`', params: null },
      },
    ]);
  });
});
