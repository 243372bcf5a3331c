import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { readRecords } from '../../kit/column-records.ts';
import { COLUMNS_LANE, Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { postgresSink, postgresSource } from './index.ts';

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
beforeEach(async () => {
  await client.query(
    'DROP TABLE IF EXISTS t; CREATE TABLE t (at timestamp, ats timestamp[], zoned timestamptz, clock time, f double precision, fs double precision[], r real, n numeric(12,5))',
  );
});

function parsed(definition: { readonly config: ZodType }, config: JsonObject) {
  const checked = check(definition.config, { connection_url: database.url, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

/** A page of columns, as the source makes it of texts. */
async function columnsOf(record: JsonObject): Promise<Page> {
  const fields = Object.entries(record).map(([name, value]) =>
    typeof value === 'string' ? `v->>'${name}' AS "${name}"` : `v->'${name}' AS "${name}"`,
  );
  const query = `SELECT ${fields.join(', ')} FROM (SELECT '${stringifyJson(record)}'::jsonb AS v) AS t`;
  const source = await postgresSource.open(parsed(postgresSource, { query }), testContext('/'));
  for await (const page of source.pages({ lane: COLUMNS_LANE })) {
    await source.close();
    if (page.columns === undefined) throw new Error('a page of columns was asked for');
    return Page.ofColumns(page.columns);
  }
  throw new Error('no page');
}

async function write(page: Page, config: JsonObject = {}): Promise<void> {
  const sink = await postgresSink.open(
    parsed(postgresSink, { table_name: 't', column_mapping: 'auto_map', ...config }),
    testContext('/'),
  );
  try {
    await sink.write(page, { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

const NS = '2024-05-06T07:08:09.123456789';
const FINE: readonly JsonObject[] = [
  { at: NS },
  { ats: ['2024-05-06T07:08:09', NS] },
  { zoned: `${NS}Z` },
  { clock: '07:08:09.1234567' },
];

test.each(FINE)('%j is refused by name, never rounded, in every lane', async (record) => {
  const [name = ''] = Object.keys(record);
  for (const page of [Page.ofRecords([record]), await columnsOf(record)]) {
    expect(await failureOf(write(page))).toMatchObject({
      kind: 'data',
      message: expect.stringMatching(
        new RegExp(
          `^the column \`${name}\` is time.*, which would round .*: it holds microseconds$`,
        ),
      ) as string,
    });
    expect((await client.query('SELECT * FROM t')).rows).toEqual([]);
  }
});

test('microseconds and zeros behind them are written', async () => {
  const record = {
    at: '2024-05-06T07:08:09.123456000',
    ats: ['2024-05-06T07:08:09.123456'],
    zoned: '2024-05-06T07:08:09.123456000+02:00',
    clock: '07:08:09.1234560',
  };
  const columns = await columnsOf(record);
  expect(readRecords(columns.columns as never)).toEqual([record]);
  for (const page of [Page.ofRecords([record]), columns]) await write(page);
  const { rows } = await client.query('SELECT DISTINCT t::text AS row FROM t');
  expect(rows).toHaveLength(1);
});

const LARGE = 2n ** 53n + 1n;
const ROUNDED: readonly JsonObject[] = [{ f: LARGE }, { fs: [1.5, -LARGE] }, { r: 2 ** 24 + 1 }];

test.each(ROUNDED.map((record) => [stringifyJson(record), record] as const))(
  '%s is refused, because a float holds another whole number, in every lane',
  async (_text, record) => {
    for (const page of [Page.ofRecords([record]), await columnsOf(record)]) {
      expect(await failureOf(write(page))).toMatchObject({
        kind: 'data',
        message: expect.stringMatching(/, which would round -?\d+$/) as string,
      });
    }
    expect((await client.query('SELECT * FROM t')).rows).toEqual([]);
  },
);

test.each<JsonObject>([{ n: 1e-9 }, { r: 1e-50 }])(
  '%j is refused for its few letters, too, in every lane',
  async (record) => {
    for (const page of [Page.ofRecords([record]), await columnsOf(record)])
      expect(await failureOf(write(page, { on_rounding: 'error' }))).toMatchObject({
        kind: 'data',
        message: expect.stringMatching(/, which would round 1e-\d+$/) as string,
      });
  },
);

test('whole numbers that floats hold, and fractions, are written', async () => {
  const record = { f: 0.30000000000000004, fs: [0.1, 12345678], r: 2 ** 24 };
  for (const page of [Page.ofRecords([record]), await columnsOf(record)]) await write(page);
  await write(Page.ofRecords([{ f: 2n ** 60n }]));
  const { rows } = await client.query('SELECT f, r FROM t ORDER BY f');
  expect(rows).toEqual([
    { f: 0.30000000000000004, r: 2 ** 24 },
    { f: 0.30000000000000004, r: 2 ** 24 },
    { f: 2 ** 60, r: null },
  ]);
});
