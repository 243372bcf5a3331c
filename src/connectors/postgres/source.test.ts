import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { check } from '../../kit/schema.ts';
import type { SourceContext } from '../../kit/context.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { postgresSource } from './index.ts';
import { failureOf } from '../../../test/fakes/failure.ts';

/** The server may take a moment on a busy machine. */
const PATIENT = { timeout: 10_000 };

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    CREATE TABLE many (id int, name text);
    INSERT INTO many SELECT i, 'n' || i FROM generate_series(1, 2500) AS i;
    CREATE TABLE ticks (at bigint, v int);
    INSERT INTO ticks VALUES (1, 1), (2, 2), (2, 3), (2, 4), (3, 5), (NULL, 6);
  `);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

function configOf(config: JsonObject) {
  const checked = check(postgresSource.config, { connection_url: database.url, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function read(
  config: JsonObject,
  changes: Partial<SourceContext> = {},
  request: { bookmark?: JsonValue; limit?: number } = {},
) {
  return readAll(await postgresSource.open(configOf(config), testContext('/', changes)), request);
}

async function records(
  config: JsonObject,
  changes: Partial<SourceContext> = {},
): Promise<JsonValue[]> {
  return (await read(config, changes)).flatMap((page) => [...page.records()]);
}

describe('values of the postgres source', () => {
  test.each<[string, JsonValue]>([
    ['\'{"a":[1,null]}\'::jsonb', { a: [1, null] }],
    ['\'"text"\'::json', 'text'],
    ["'x'::varchar(3)", 'x'],
    ['7::int2', 7],
    ['9007199254740993::int8', 9007199254740993n],
    ['42::int8', 42],
    ['1.1::float4', 1.1],
    ['0.1::float8 + 0.2', 0.30000000000000004],
    ["'NaN'::float8", 'NaN'],
    ["'-Infinity'::float4", '-Infinity'],
    ['true', true],
    ["'2024-05-06 07:08:09.123456+02'::timestamptz", '2024-05-06T05:08:09.123456Z'],
    ["'2024-05-06 07:08:09'::timestamp", '2024-05-06T07:08:09'],
    ["'2024-05-06'::date", '2024-05-06'],
    ["'07:08:09'::time", '07:08:09'],
    ["'0189c0de-0000-7000-8000-000000000000'::uuid", '0189c0de-0000-7000-8000-000000000000'],
    ['12345678901234567890.10::numeric', '12345678901234567890.10'],
    ["'\\x00ff'::bytea", 'AP8='],
    ['\'{a,"b c",NULL,"NULL"}\'::text[]', ['a', 'b c', null, 'NULL']],
    [
      "'{{1,2},{3,NULL}}'::int[]",
      [
        [1, 2],
        [3, null],
      ],
    ],
    ["'[2:3]={5,6}'::int[]", '[2:3]={5,6}'],
    ["'{}'::uuid[]", []],
    ['\'{"2024-05-06 07:08:09+02"}\'::timestamptz[]', ['2024-05-06T05:08:09Z']],
    ["'{(1,2),(3,4);(0,0),(1,1)}'::box[]", ['(3,4),(1,2)', '(1,1),(0,0)']],
    ["ARRAY['\\x00ff'::bytea]", ['AP8=']],
    ['ARRAY[\'{"a": [1]}\'::jsonb, NULL]', [{ a: [1] }, null]],
    ["'1 2'::int2vector", '1 2'],
    ["'10.0.0.1/24'::inet", '10.0.0.1/24'],
    ['NULL::int', null],
  ])('%s', async (sql, expected) => {
    expect(await records({ query: `SELECT ${sql} AS v` })).toEqual([{ v: expected }]);
  });

  test('a number in a JSON column that cannot be held exactly fails or becomes text', async () => {
    const query = "SELECT '[0.12345678901234567890]'::jsonb AS amounts";
    expect(await failureOf(read({ query }))).toMatchObject({
      kind: 'data',
      message: expect.stringContaining('amounts') as string,
    });
    expect(await records({ query, json_big_numbers: 'string' })).toEqual([
      { amounts: ['0.12345678901234567890'] },
    ]);
  });
});

describe('reading', () => {
  test('pages hold at most `batch_size` records, and 0 means one page', async () => {
    const query = 'SELECT * FROM many ORDER BY id';
    const pages = await read({ query, batch_size: 1000 });
    expect(pages.map((page) => page.count)).toEqual([1000, 1000, 500]);
    expect(pages.at(-1)?.records().at(-1)).toEqual({ id: 2500, name: 'n2500' });
    expect((await read({ query, batch_size: 0 })).map((page) => page.count)).toEqual([2500]);
  });

  test('a page is also bounded by its bytes', async () => {
    const pages = await read(
      { query: "SELECT repeat('x', 1000) AS v FROM many LIMIT 100" },
      { pageBytes: 10_000 },
    );
    expect(Math.max(...pages.map((page) => page.bytes))).toBeLessThan(12_000);
    expect(pages.reduce((sum, page) => sum + page.count, 0)).toBe(100);
  });

  test('no more records are read than anybody wants', async () => {
    expect(
      (await read({ query: 'SELECT * FROM many;', batch_size: 10 }, {}, { limit: 12 })).map(
        (page) => page.count,
      ),
    ).toEqual([10, 2]);
  });

  test('parameters are bound with the type their place asks for', async () => {
    const query =
      'SELECT id FROM many WHERE id = $1 AND name = $2 AND $3::bool AND $4::numeric = 18446744073709551615';
    expect(await records({ query, params: [3, 'n3', true, 18446744073709551615n] })).toEqual([
      { id: 3 },
    ]);
    expect(
      await records(
        { query: "SELECT id FROM many WHERE name = '${p.name}'", params: [] },
        { records: new Map([['p', { name: 'n4' }]]) },
      ),
    ).toEqual([{ id: 4 }]);
  });

  test('failures have a kind', async () => {
    expect((await failureOf(read({ query: 'SELECT * FROM none' }))).kind).toBe('missing');
    expect((await failureOf(read({ query: 'SELEC' }))).kind).toBe('data');
    expect(
      (await failureOf(read({ query: 'SELECT 1/(i - 300) FROM generate_series(1, 1000) AS i' })))
        .kind,
    ).toBe('data');
    expect(
      (await failureOf(read({ query: 'SELECT pg_sleep(30)', read_timeout_secs: 1 }))).kind,
    ).toBe('timeout');
  });

  test('a fired signal ends a running query at once, on the server too', async () => {
    const stop = new AbortController();
    const source = await postgresSource.open(
      configOf({ query: 'SELECT pg_sleep(60) /* cancelled */' }),
      testContext('/', { signal: stop.signal }),
    );
    const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
    const first = pages.next();
    const running =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'";
    const count = async () => (await client.query<{ n: number }>(running)).rows[0]?.n;
    await expect.poll(count, PATIENT).toBe(1);
    const reason = new Error('stop');
    stop.abort(reason);
    await expect(first).rejects.toBe(reason);
    await source.close();
    await expect.poll(count, PATIENT).toBe(0);
  });

  test('closing in the middle of the result leaves no query behind', async () => {
    const source = await postgresSource.open(
      configOf({ query: 'SELECT * FROM many' }),
      testContext('/'),
    );
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      expect(page.count).toBe(1000);
      break;
    }
    await source.close();
    const open =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'headgate' AND datname = current_database()";
    await expect
      .poll(async () => (await client.query<{ n: number }>(open)).rows[0]?.n, PATIENT)
      .toBe(0);
  });
});

describe('incremental reading', () => {
  const ticks = (more: JsonObject = {}) => ({
    query: 'SELECT * FROM ticks',
    replication: { type: 'incremental', column: 'at', initial_value: 1 },
    ...more,
  });
  /** The value of each bookmark, and how many rows with that value it knows. */
  const marks = (pages: readonly Page[]) =>
    pages.map(({ count, bookmark }) => {
      const { value = null, seen = [] } = bookmark as { value?: JsonValue; seen?: string[] };
      return [count, value, seen.length];
    });

  test('the first run includes its start and leaves rows without a value out', async () => {
    const pages = await read(ticks());
    expect(pages.flatMap((page) => page.records())).toHaveLength(5);
    expect(marks(pages)).toEqual([[5, 3, 1]]);
  });

  test('a bookmark says which rows of its value were read', async () => {
    expect(marks(await read(ticks({ batch_size: 1 })))).toEqual([
      [1, 1, 1],
      [1, 2, 1],
      [1, 2, 2],
      [1, 2, 3],
      [1, 3, 1],
    ]);
  });

  test('a run that ended anywhere goes on with exactly the rows that were not read', async () => {
    for (const stopAfter of [1, 2, 3, 4, 5]) {
      const first = (await read(ticks({ batch_size: 1 }))).slice(0, stopAfter);
      const bookmark = first.at(-1)?.bookmark;
      const rest = await read(ticks(), {}, bookmark === undefined ? {} : { bookmark });
      const seen = [...first, ...rest].flatMap((page) => page.records());
      expect(seen.map((record) => (record as JsonObject)['v'])).toEqual([1, 2, 3, 4, 5]);
    }
  });

  test('a bookmark of an earlier version is a value whose rows all count as read', async () => {
    expect(await read(ticks(), {}, { bookmark: 3 })).toEqual([]);
    const query = 'SELECT * FROM ticks WHERE at >= ${bookmark}';
    expect(marks(await read(ticks({ query }), {}, { bookmark: 2 }))).toEqual([[1, 3, 1]]);
  });

  test('a timestamp with microseconds is compared exactly', async () => {
    const query = "SELECT '2024-01-01T00:00:00.000001Z'::timestamptz AS at";
    const replication = { type: 'incremental', column: 'at', initial_value: '2024-01-01' };
    const [page] = await read({ query, replication });
    expect(page?.bookmark).toMatchObject({ value: '2024-01-01T00:00:00.000001Z' });
    expect(await read({ query, replication }, {}, { bookmark: page?.bookmark ?? null })).toEqual(
      [],
    );
  });
});

describe('the definition', () => {
  test('every discovered table can be read with its patch', async () => {
    const found =
      (await postgresSource.discover?.(configOf({ query: 'SELECT 1' }), testContext('/'))) ?? [];
    expect(found.map((one) => one.name)).toEqual(['public.many', 'public.ticks']);
    expect(found[0]?.schema).toEqual({
      type: 'object',
      properties: { id: { type: ['integer', 'null'] }, name: { type: ['string', 'null'] } },
    });
    for (const one of found) expect((await records(one.config_patch)).length).toBeGreaterThan(0);
  });

  test('the data set is named without credentials', () => {
    const config = configOf({
      connection_url: 'postgres://me:secret@h/shop?sslmode=require',
      query: 'SELECT 1',
    });
    expect(postgresSource.datasetUri(config)).toBe('postgres://h:5432/shop?query=SELECT 1');
  });

  test.each([
    [{ shard: {} }, 'missing_key', 'shard.key'],
    [{ query: "SELECT 'a ${p.id}'" }, 'invalid_value', 'query'],
    [
      { replication: { type: 'incremental', column: 'a', initial_value: null } },
      'missing_key',
      'replication.initial_value',
    ],
    [{ connection_url: 'mysql://h' }, 'invalid_value', 'connection_url'],
  ])('%j is refused', (more, code, path) => {
    const checked = check(postgresSource.config, {
      connection_url: 'postgres://h/d',
      query: 'SELECT 1',
      ...more,
    });
    expect(!checked.ok && checked.issues.map((issue) => [issue.code, issue.path])).toEqual([
      [code, path],
    ]);
  });

  test('it has bookmarks only when it reads incrementally', () => {
    const incremental = { type: 'incremental', column: 'a', initial_value: 0 };
    expect(postgresSource.capabilities(configOf({ query: 'SELECT 1' })).bookmarks).toBe(false);
    expect(
      postgresSource.capabilities(configOf({ query: 'SELECT 1', replication: incremental }))
        .bookmarks,
    ).toBe(true);
  });
});
