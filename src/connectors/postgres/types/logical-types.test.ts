/** What the source says about the types of its columns, and that it is the same in every lane. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testContext } from '../../../../test/fakes/env.ts';
import { freshDatabase } from '../../../../test/servers/postgres.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Page } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { ReadRequest } from '../../../kit/source.ts';
import { typeText } from '../../../kit/type-text.ts';
import { COPY_BINARY } from '../copy/binary-rows.ts';
import { postgresSource } from '../index.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

function configOf(query: string): never {
  const checked = check(postgresSource.config, { connection_url: database.url, query });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

async function read(query: string, request: ReadRequest): Promise<Page[]> {
  const source = await postgresSource.open(configOf(query), testContext('/'));
  const pages: Page[] = [];
  try {
    for await (const page of source.pages(request)) pages.push(page);
  } finally {
    await source.close();
  }
  return pages;
}

const REQUESTS: readonly ReadRequest[] = [
  { lane: RECORDS_LANE },
  { lane: RECORDS_LANE, limit: 5 },
  { lane: COLUMNS_LANE },
  { lane: { form: 'bytes', encoding: JSON_LINES.name } },
  { lane: { form: 'bytes', encoding: COPY_BINARY } },
];

describe('the type of a column', () => {
  test.each([
    ['true', 'bool', 'boolean'],
    ['1::int2', 'int16', 'smallint'],
    ['1', 'int32', 'integer'],
    ['1::int8', 'int64', 'bigint'],
    ['1::oid', 'uint32', 'oid'],
    ['1::float4', 'float32', 'real'],
    ['1::float8', 'float64', 'double precision'],
    ['1::numeric', 'decimal', 'numeric'],
    ['1::numeric(12, 2)', 'decimal(12, 2)', 'numeric(12,2)'],
    ['1::numeric(3, -2)', 'decimal(3, -2)', 'numeric(3,-2)'],
    ["'x'::text", 'utf8', 'text'],
    ["'x'::varchar", 'utf8', 'character varying'],
    ["'x'::varchar(3)", 'utf8', 'character varying(3)'],
    ["'1'::varbit(3)", 'utf8', 'bit varying(3)'],
    ["'x'::char(3)", 'utf8', 'character(3)'],
    ["'x'::bytea", 'binary', 'bytea'],
    ["'2024-05-06'::date", 'date', 'date'],
    ["'07:08'::time", 'time', 'time without time zone'],
    ["'07:08+02'::timetz", 'utf8', 'time with time zone'],
    ["'2024-05-06'::timestamp", 'timestamp(us)', 'timestamp without time zone'],
    ["'2024-05-06'::timestamptz", 'timestamp(us, UTC)', 'timestamp with time zone'],
    ["'07:08'::time(3)", 'time', 'time(3) without time zone'],
    ["'07:08+02'::timetz(0)", 'utf8', 'time(0) with time zone'],
    ["'2024-05-06'::timestamp(0)", 'timestamp(us)', 'timestamp(0) without time zone'],
    ["'2024-05-06'::timestamptz(3)", 'timestamp(us, UTC)', 'timestamp(3) with time zone'],
    ["'1 day'::interval", 'interval', 'interval'],
    ["'1 day'::interval(2)", 'interval', 'interval(2)'],
    ["'1 year'::interval year to month", 'interval', 'interval year to month'],
    ["'1 day'::interval day to second(3)", 'interval', 'interval day to second(3)'],
    ["'0189c0de-0000-7000-8000-000000000000'::uuid", 'uuid', 'uuid'],
    ["'{}'::json", 'json', 'json'],
    ["'{}'::jsonb", 'json', 'jsonb'],
    ["'{1}'::int[]", 'list(int32)', 'integer[]'],
    ["'{x}'::varchar(5)[]", 'list(utf8)', 'character varying(5)[]'],
    ["'{07:08}'::time(3)[]", 'list(time)', 'time(3) without time zone[]'],
    ["'{1.5}'::numeric(5, 1)[]", 'list(decimal(5, 1))', 'numeric(5,1)[]'],
    ["'{a}'::text[]", 'list(utf8)', 'text[]'],
    ["'{08:00:2b:01:02:03:04:05}'::macaddr8[]", 'list(utf8)', 'macaddr8[]'],
    ['\'{"[1,2)"}\'::int4range[]', 'list(utf8)', 'int4range[]'],
    ["'[1,2)'::int4range", 'utf8', 'int4range'],
    ["'101'::bit(3)", 'utf8', 'bit(3)'],
    ["ROW(1, 'x')", 'utf8', undefined],
  ])('%s is %s', async (sql, type, native) => {
    const query = `SELECT ${sql} AS v`;
    const { columns } = (await postgresSource.describe?.(configOf(query), testContext('/'))) ?? {
      columns: [],
    };
    const [field] = columns.map((column) => column.field);
    expect([typeText(field?.type ?? { kind: 'json' }), field?.native?.name]).toEqual([
      type,
      native,
    ]);
    for (const request of REQUESTS) {
      const [page] = await read(query, request);
      expect(page?.schema).toEqual({ fields: [field] });
    }
  });

  test('all pages of a read share one schema', async () => {
    for (const request of REQUESTS) {
      const pages = await read('SELECT * FROM generate_series(1, 2500) AS i', request);
      expect(new Set(pages.map((page) => page.schema)).size).toBe(1);
    }
  });
});
