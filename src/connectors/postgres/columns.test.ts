/** A table filled from columns holds what it holds when it is filled from records. */
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { COLUMNS_LANE, Page, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { isExactInCells } from '../../kit/cells.ts';
import { check } from '../../kit/schema.ts';
import { postgresSink, postgresSource } from './index.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let tables = 0;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

function parsed(definition: { readonly config: ZodType }, config: JsonObject): never {
  const checked = check(definition.config, { connection_url: database.url, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

async function pagesOf(query: string, lane: Lane): Promise<Page[]> {
  const source = await postgresSource.open(
    parsed(postgresSource, { query, batch_size: 3, json_big_numbers: 'string' }),
    testContext('/'),
  );
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({ lane })) pages.push(page);
  } finally {
    await source.close();
  }
  return pages;
}

async function fill(definition: string, pages: readonly Page[]): Promise<unknown> {
  const table = `t${(tables += 1)}`;
  await client.query(`CREATE TABLE ${table} (${definition})`);
  const sink = await postgresSink.open(
    parsed(postgresSink, { table_name: table, column_mapping: 'auto_map' }),
    testContext('/'),
  );
  try {
    const told: unknown[] = [];
    for (const page of pages) told.push(await sink.write(page, { partial: false }));
    await sink.flush();
    return [told, (await client.query(`SELECT t::text AS row FROM ${table} AS t ORDER BY 1`)).rows];
  } catch (error) {
    // Only COPY knows the number of a row, and a statement the record.
    return String(error).replace(table, 'the table').replace('; row 1 of the COPY statement', '');
  } finally {
    await sink.close();
  }
}

/** Reads and writes in both lanes; gives what they have in common. */
async function bothLanes(query: string, definition: string): Promise<unknown> {
  const [columns, records] = [
    await pagesOf(query, COLUMNS_LANE),
    await pagesOf(query, RECORDS_LANE),
  ];
  // A page with a value that cells cannot hold is one of records.
  expect(columns.map((page) => page.form.form)).toEqual(
    records.map((page) => (page.records().every(isExactInCells) ? 'columns' : 'records')),
  );
  expect(columns.flatMap((page) => page.records())).toEqual(
    records.flatMap((page) => page.records()),
  );
  const filled = await fill(definition, columns);
  expect(filled).toEqual(await fill(definition, records));
  return filled;
}

describe('columns', () => {
  test('of every kind of value fill columns of every kind of type', async () => {
    await client.query(`CREATE TABLE kinds (n int, b bool, i int8, f float8, d numeric, t text, j jsonb, c json, at timestamptz, y bytea, l text[]);
      INSERT INTO kinds VALUES (1, true, 9007199254740993, 0.1, 1.10, E'tab\\t nl\\n cr\\r bs\\b vt\\x0b \\\\N " é 𝄞', '{"a": ["x\\\\y\\n", null]}', '[1, 2.50]', '2024-05-06 07:08:09+02', '\\x00ff', '{a,"b c"}'),
        (2, false, -1, 1e300, -0.5, '{"spells": [1]}', '"[1]"', '"x"', 'infinity', '', '{}'),
        (3, NULL, NULL, 'NaN', NULL, '', 'null', 'true', NULL, NULL, NULL), (4, NULL, 0, 1e-7, 0, ' [1', '[]', '{}', '0044-03-15 BC', '\\x5c', '{NULL}')`);
    const query = 'SELECT * FROM kinds ORDER BY n';
    await bothLanes(
      query,
      'n int, b bool, i int8, f float8, d numeric, t text, j jsonb, c json, at timestamptz, y text, l text[]',
    );
    await bothLanes(
      query,
      'n text, b text, i text, f text, d text, t jsonb, j text, c text, at text, y text, l text',
    );
    await bothLanes(
      query,
      'n jsonb, b json, i jsonb, f jsonb, d jsonb, t json, j json, c jsonb, at jsonb, y jsonb, l jsonb',
    );
  });

  test('that are no column are left out, and columns without a field keep their default', async () => {
    await bothLanes(
      "SELECT i, 'x' AS t, 1 AS other FROM generate_series(1, 7) AS i",
      't text, i int, kept int DEFAULT 7, made text GENERATED ALWAYS AS (upper(t)) STORED',
    );
    await bothLanes('SELECT 1 AS a, NULL::int AS b', 'b int DEFAULT 5, c int');
    await bothLanes('SELECT 1 AS nothing', 'c int');
  });

  test('that do not fit fail alike', async () => {
    expect(await bothLanes("SELECT 'x' AS n", 'n int')).toContain('invalid input syntax');
  });

  test('whatever texts and documents they hold', async () => {
    await client.query('CREATE TABLE anything (n int, t text, j jsonb, c json)');
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((value) => value.replaceAll('\u0000', '')),
      fc.string({
        unit: fc.constantFrom(
          '\\',
          '\n',
          '\t',
          '\r',
          '\v',
          '\b',
          '\f',
          '"',
          '[',
          '{',
          ' ',
          'N',
          'é',
          '/',
          '1',
          ']',
          '\u00a0',
        ),
        maxLength: 9,
      }),
      fc.constant(null),
    );
    const documents = fc
      .jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
      .map((value) => JSON.stringify(value).replaceAll('\\u0000', ''));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(texts, documents), { minLength: 1, maxLength: 12 }),
        async (rows) => {
          await client.query('TRUNCATE anything');
          for (const [n, [t, j]] of rows.entries()) {
            await client.query(
              'INSERT INTO anything VALUES ($1, $2, $3::text::jsonb, $3::text::json)',
              [n, t, j] as JsonValue[],
            );
          }
          await bothLanes('SELECT * FROM anything ORDER BY n', 'n int, t text, j jsonb, c json');
          await bothLanes(
            'SELECT n, t AS c, t AS j, j AS t FROM anything ORDER BY n',
            'n int, t text, j jsonb, c json',
          );
        },
      ),
      { numRuns: 15 },
    );
  }, 60_000);
});
