/** A copy of a Parquet file has the same columns and values, as the engine reads them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { openDuckdb } from '../../lib/sql/duckdb.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-parquet-same-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const VALUES = `SELECT true AS flag, 1::TINYINT AS i8, 2::SMALLINT AS i16, 3 AS i32, 9007199254740993 AS i64,
  255::UTINYINT AS u8, 65535::USMALLINT AS u16, 4294967295::UINTEGER AS u32, 18446744073709551615::UBIGINT AS u64,
  0.1::FLOAT AS f32, 'nan'::DOUBLE AS f64, 2.0::DOUBLE AS whole, 1.10::DECIMAL(5,2) AS d5,
  1234567890123456789012345678.0123456789::DECIMAL(38,10) AS d38, 'é' AS t, '1.10' AS n, '\\x00\\xFF'::BLOB AS b,
  DATE '0044-03-15 (BC)' AS day, TIME '07:08:09.5' AS clock, TIMESTAMP '1969-12-31 23:59:59.999999' AS wall,
  TIMESTAMP_MS '2024-05-06 07:08:09.123' AS ms, TIMESTAMP_NS '2024-05-06 07:08:09.123456789' AS ns,
  TIMESTAMPTZ '2024-05-06 07:08:09.5+02' AS at, UUID '00112233-4455-6677-8899-aabbccddeeff' AS u,
  '{"a": [1.0, null]}'::JSON AS j, [1::SMALLINT, NULL] AS l, [['\\x00'::BLOB], []] AS ll,
  {'a': DATE '2024-01-01', 'b c': {'d': 1.5::DECIMAL(4,1), 'e': NULL::INTEGER}} AS s, MAP {'k': TIMESTAMP '2024-01-01'} AS m,
  MAP {10: 'a', -3: NULL} AS m32, [MAP {DATE '2024-01-01': MAP {1: NULL, 9223372036854775807: true}}] AS lm,
  MAP {1.5::DECIMAL(4,2): 1, 2: 2} AS md, MAP {'\\x00\\xFF'::BLOB: {'m': MAP {true: 0.1::FLOAT}}} AS mb,
  MAP {{'a': 1, 'b': [NULL, 'x']}: 1} AS ms, MAP {0.1::DOUBLE: 1, 'nan': 2} AS mf, {'m': MAP {1: 'x'}} AS sm,
  INTERVAL '14 months 2 days 2500 milliseconds' AS span, {'e': INTERVAL '3 days'} AS spans`;

const ALL = `${VALUES} UNION ALL SELECT * FROM (${VALUES}) AS one WHERE false UNION ALL (SELECT ${'NULL, '.repeat(37)}NULL)`;

async function ask(...statements: string[]): Promise<unknown[][]> {
  const { connection, close } = await openDuckdb(':memory:');
  try {
    let rows: unknown[][] = [];
    for (const sql of ["SET TimeZone = 'UTC'", ...statements])
      rows = (await connection.runAndReadAll(sql)).getRowsJson();
    return rows;
  } finally {
    close();
  }
}

async function digest(path: string): Promise<unknown[]> {
  const types = await ask(`DESCRIBE SELECT * FROM '${path}'`);
  return [types, await ask(`SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '${path}'`)];
}

const CHANGES_NOTHING = [{ type: 'filter', config: { path: 'x', op: 'ne', value: 1 } }];

test.each([
  ['no stage', [], 0],
  ['a stage that changes nothing', CHANGES_NOTHING, 0],
  ['threads', CHANGES_NOTHING, 1],
])('with %s', async (_name, transforms, threads) => {
  const [from, into] = [join(folder, 'from.parquet'), join(folder, 'into.parquet')];
  await ask(`COPY (${ALL}) TO '${from}' (FORMAT parquet)`);
  const local = (path: string) => ({ type: 'local_path', path });
  const plan = planOfTree({
    pipeline: {
      source: { type: 'parquet', config: { source: local(from) } },
      transforms,
      sink: { type: 'parquet', config: { destination: local(into) } },
    },
  });
  const outcome = await run(plan, { threads, threadsFromBytes: 0 });
  expect(outcome.invocations.map(({ error }) => error)).toEqual([null]);
  expect(await digest(into)).toEqual(await digest(from));
});

test('objects are written as deep as the engine reads them', async () => {
  const [lines, into] = [join(folder, 'deep.jsonl'), join(folder, 'deep.parquet')];
  const plan = planOfTree({
    pipeline: {
      source: { type: 'jsonl', config: { path: lines } },
      sink: { type: 'parquet', config: { destination: { type: 'local_path', path: into } } },
    },
  });
  const written = async (depth: number) => {
    await writeFile(lines, `{"id":1,"v":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}\n`);
    return (await run(plan)).invocations[0]?.error;
  };
  expect(await written(254)).toBeNull();
  expect(await ask(`SELECT id, v IS NULL FROM '${into}'`)).toEqual([['1', false]]);
  expect(await written(255)).toMatchObject({
    code: 'connector_data',
    message: expect.stringContaining('"v" is nested 256 levels deep'),
  });
});
