/**
 * One query read through every lane gives the same bytes: through the cursor, by COPY as records,
 * by COPY as lines.
 */
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { RECORDS_LANE, type Lane, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { ReadRequest } from '../../kit/source.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { postgresSource } from './index.ts';

const LINES: Lane = { form: 'bytes', encoding: JSON_LINES.name };
/** More than anybody has: with a limit the source reads through a cursor. */
const BY_CURSOR = { lane: RECORDS_LANE, limit: 1_000_000_000 };

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function read(
  config: JsonObject,
  request: ReadRequest,
  pageBytes = 1 << 22,
): Promise<Page[]> {
  const checked = check(postgresSource.config, { connection_url: database.url, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await postgresSource.open(checked.value, testContext('/', { pageBytes }));
  const pages: Page[] = [];
  try {
    for await (const page of source.pages(request)) pages.push(page);
  } finally {
    await source.close();
  }
  return pages;
}

interface Told {
  readonly lines: string[];
  readonly pages: (readonly [number, JsonValue | undefined])[];
  readonly failure?: string;
}

async function tell(config: JsonObject, request: ReadRequest): Promise<Told> {
  try {
    const pages = await read(config, request);
    const lines = pages.map((page) =>
      page.form.form === 'bytes'
        ? Buffer.from(page.block(JSON_LINES)).toString('utf8')
        : page
            .records()
            .map((record) => `${stringifyJson(record)}\n`)
            .join(''),
    );
    return { lines, pages: pages.map((page) => [page.count, page.bookmark] as const) };
  } catch (error) {
    return {
      lines: [],
      pages: [],
      failure: error instanceof Error ? error.message : String(error),
    };
  }
}

/** Reads in every lane, expects the same of each, and gives the lines. */
async function everyLane(config: JsonObject, bookmark?: JsonValue): Promise<string> {
  const from = bookmark === undefined ? {} : { bookmark };
  const oracle = await tell(config, { ...BY_CURSOR, ...from });
  expect(await tell(config, { lane: RECORDS_LANE, ...from })).toEqual(oracle);
  expect(await tell(config, { lane: LINES, ...from })).toEqual(oracle);
  return oracle.failure ?? oracle.lines.join('');
}

describe('every lane tells the same', () => {
  test.each([
    [
      '\'tab\tline\nreturn\rback\\slash "quote" é ✓ 𝄞 \' || chr(11) || chr(8) || chr(12) || chr(1) || chr(31) || chr(127)',
    ],
    ["'\\N'"],
    ["''"],
    ["'\\'"],
    ['NULL::text'],
    ['9007199254740993'],
    ['(-9223372036854775808)::int8'],
    ['7::int2'],
    ['4294967295::oid'],
    [
      "unnest('{0,-0,1,-1.5,0.1,1e-5,0.0001,0.00001,1e15,1e20,1e21,123456789012345,1234567890123456,5e-324,1.7976931348623157e308,NaN,Infinity,-Infinity,0.30000000000000004,9007199254740993}'::float8[])",
    ],
    ["unnest('{0,-0,0.1,3.4e38,1e-45,16777217,NaN,-Infinity}'::float4[])"],
    ["unnest('{1,1.10,NaN,123456789012345678901234567890.123}'::numeric[])"],
    ['unnest(ARRAY[true, false, NULL])'],
    [
      "unnest('{2024-05-06 07:08:09+00,2024-05-06 07:08:09.000001+02,infinity,-infinity,0044-03-15 00:00:00+00 BC,12024-01-01 00:00:00+00}'::timestamptz[])",
    ],
    [
      "unnest('{2024-05-06 07:08:09,2024-05-06 07:08:09.5,infinity,0044-03-15 00:00:00 BC,12024-01-01 00:00:00}'::timestamp[])",
    ],
    ["unnest('{2024-05-06,infinity,0044-03-15 BC}'::date[])"],
    ["'07:08:09.5'::time"],
    ["'1 day 02:03:04'::interval"],
    ["'\\x00ff10'::bytea"],
    ["''::bytea"],
    ['\'{a,"b c",NULL,"\\\\"}\'::text[]'],
    ["'10.0.0.1/24'::inet"],
    ["'0189c0de-0000-7000-8000-000000000000'::uuid"],
    ["'(1,2)'::point"],
  ])('%s', async (sql) => {
    await everyLane({ query: `SELECT ${sql} AS v, 'after' AS w` });
  });

  test.each([
    '{"a": 1, "b": [1, 2.5, -3, 1.0, 1.50, 0.001], "c": {"d": null, "e": true, "f": "x y: {,}"}}',
    '{"10": 1, "9": 2, "a": 3}',
    '{"a": {"1": 1, "bb": 2, "0": 3}}',
    '{"": 1, "__proto__": {"a": 1}}',
    '"text with \\"quotes\\", \\\\ and \\n\\t\\u0001\\u007f \\u2028 é 𝄞"',
    '{"k\\n": "\\\\", "k\\\\": "\\\\\\\\"}',
    '[1e5, 1E-7, 0.000001, 0.0000001, 123456789012345, 1234567890123456, 9007199254740993, -0, 0, -1]',
    '[]',
    '{}',
    'null',
    'true',
    '5',
    '""',
    '[0.12345678901234567890]',
    '{"a":1,"a":2}',
    ' [ 1 , "\\/\\u0041" ] ',
  ])('JSON %s', async (json) => {
    for (const json_big_numbers of ['fail', 'string']) {
      await everyLane({
        query: 'SELECT $1::jsonb AS v, $1::json AS w, 1 AS x',
        params: [json],
        json_big_numbers,
      });
    }
  });

  test('names in any order and spelling, and columns with one name', async () => {
    await everyLane({ query: 'SELECT 1 AS "b", 2 AS "10", 3 AS "9"' });
    await everyLane({ query: 'SELECT 1 AS a, 2 AS b, 3 AS a' });
    expect(await everyLane({ query: `SELECT 1 AS "a""b\\c", 2 AS "__proto__", 3 AS "é"` })).toBe(
      '{"a\\"b\\\\c":1,"__proto__":2,"é":3}\n',
    );
    await everyLane({ query: 'SELECT FROM generate_series(1, 3)' });
  });

  test('whatever texts, floats and documents a table holds', async () => {
    await client.query('CREATE TABLE anything (n int, t text, f float8, j jsonb, c json)');
    const text = fc
      .string({ unit: 'grapheme', maxLength: 30 })
      .map((value) => value.replaceAll('\u0000', ''));
    const controls = fc.string({
      unit: fc.constantFrom('\\', '\n', '\t', '\r', '\v', '\b', '\f', '\u0001', '"', 'N', 'é', 'x'),
      maxLength: 12,
    });
    const document = fc
      .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
      .map((value) => JSON.stringify(value).replaceAll('\\u0000', ''));
    const row = fc.tuple(
      fc.oneof(text, controls, fc.constant(null)),
      fc.oneof(fc.double(), fc.float(), fc.integer()),
      document,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), async (rows) => {
        await client.query('TRUNCATE anything');
        for (const [n, [t, f, j]] of rows.entries()) {
          await client.query(
            'INSERT INTO anything VALUES ($1, $2, $3, $4::text::jsonb, $4::text::json)',
            [n, t, String(f), j],
          );
        }
        await everyLane({
          query: 'SELECT * FROM anything ORDER BY n',
          json_big_numbers: 'string',
          batch_size: 7,
        });
      }),
      { numRuns: 25 },
    );
  }, 120_000);

  test('values bound to parameters, whatever they are', async () => {
    const query =
      "SELECT $1 AS t, $2::int8 + 1 AS n, '$1' AS quoted, $3::bool AS b, $4::timestamptz AS at -- $1";
    for (const value of ["it's", '\\', "\\'; DROP TABLE x; --", '$2', "'", '"', '', 'é', null]) {
      await everyLane({
        query,
        params: [value, 9007199254740993n, true, '2024-01-01T00:00:00Z'] as JsonValue[],
      });
    }
    await everyLane({
      query:
        'SELECT i FROM generate_series(1, 50) AS i WHERE i > $1 AND i < $2 ORDER BY i LIMIT $3',
      params: [3, 20, 5],
    });
  });

  test('bookmarks stand at the same rows', async () => {
    await client.query(
      `CREATE TABLE ticks (at float8, v int); INSERT INTO ticks SELECT i / 3, i FROM generate_series(1, 40) AS i`,
    );
    const config = {
      query: 'SELECT v, at FROM ticks',
      replication: { type: 'incremental', column: 'at', initial_value: -1 },
    };
    for (const batch_size of [1, 2, 3, 4, 7, 100, 0]) {
      await everyLane({ ...config, batch_size });
      await everyLane({ ...config, batch_size }, 5);
    }
  });

  test('a failure in the middle is reported alike', async () => {
    expect(
      await everyLane({ query: 'SELECT 1/(i - 300) AS v FROM generate_series(1, 1000) AS i' }),
    ).toContain('division by zero');
    expect(await everyLane({ query: 'SELECT 1; SELECT 2' })).toContain('multiple commands');
    expect(await everyLane({ query: 'DELETE FROM pg_class RETURNING 1' })).toContain(
      'syntax error',
    );
  });
});

describe('reading by COPY', () => {
  test('rows larger than every buffer come whole, and pages stay bounded', async () => {
    const query = `SELECT i, repeat(chr(96 + i) || '"' || chr(9), 400000) AS v FROM generate_series(1, 5) AS i`;
    const pages = await read({ query }, { lane: LINES }, 1 << 20);
    expect(pages.map((page) => page.count)).toEqual([1, 1, 1, 1, 1]);
    expect(pages.flatMap((page) => page.records())).toEqual(
      (await read({ query }, BY_CURSOR)).flatMap((page) => page.records()),
    );
  });

  test('pages before a failure are handed over', async () => {
    const query = 'SELECT 1/(i - 2500) AS v FROM generate_series(1, 3000) AS i';
    const seen: number[] = [];
    const reading = (async () => {
      const checked = check(postgresSource.config, { connection_url: database.url, query });
      if (!checked.ok) throw new Error('config');
      const source = await postgresSource.open(checked.value, testContext('/'));
      try {
        for await (const page of source.pages({ lane: LINES })) seen.push(page.count);
      } finally {
        await source.close();
      }
    })();
    await expect(reading).rejects.toThrow('division by zero');
    expect(seen).toEqual([1000, 1000]);
  });
});
