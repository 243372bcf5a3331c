/** A table filled from blocks holds what it holds when it is filled from records. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { ReadRequest } from '../../kit/source.ts';
import type { Sink } from '../../kit/sink.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { COPY_BINARY } from './copy/binary-rows.ts';
import { postgresSink, postgresSource } from './index.ts';

const BINARY: Lane = { form: 'bytes', encoding: COPY_BINARY };
const COLUMNS = `id bigint, s smallint, i int, f real, d double precision, n numeric(30,6), b boolean, t text, v varchar(20), u uuid,
  j jsonb, y bytea, day date, tod time, ts timestamp, at timestamptz`;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
let tables = 0;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    CREATE TABLE wide (${COLUMNS});
    INSERT INTO wide SELECT i, i, -i, i / 3.0::real, i / 7.0::float8, (i * 1234567.891)::numeric, i % 2 = 0, E'tab\\tline\\n\\\\N é ' || i, 'v' || i,
      md5(i::text)::uuid, jsonb_build_object('k', i, 'l', jsonb_build_array(NULL, 'a"b\\c')), decode(md5(i::text), 'hex'),
      date '2024-02-28' + i, time '00:00:00.000001' + i * interval '61.5 s', timestamp '1999-12-31 23:59:59.999999' + i * interval '37 days',
      timestamptz '2024-01-01 00:00:00+00' - i * interval '1001 days 1.000001 s'
      FROM generate_series(1, 500) AS i;
    INSERT INTO wide (id) VALUES (501);
    INSERT INTO wide (id, n, f, d, day, ts, at, tod, t, y) VALUES
      (502, -0.000001, 1e-38, 1e300, '0001-01-01', '0044-03-15 BC', '0044-03-15 00:00:00+00 BC', '24:00:00', '', ''),
      (503, 0, 16777217, -0.1, '4000-02-29', '12024-02-29', '12024-12-31', '23:59:59.999999', NULL, NULL),
      (504, 100000000, 0.1, 0.1, 'infinity', '-infinity', 'infinity', '12:00', 'é', '\\x00');
  `);
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

async function pagesOf(
  config: JsonObject,
  lane: Lane,
  request: Omit<ReadRequest, 'lane'> = {},
): Promise<Page[]> {
  const source = await postgresSource.open(parsed(postgresSource, config), testContext('/'));
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({ lane, ...request })) pages.push(page);
  } finally {
    await source.close();
  }
  return pages;
}

async function into<T>(config: JsonObject, work: (sink: Sink) => Promise<T>): Promise<T> {
  const sink = await postgresSink.open(parsed(postgresSink, config), testContext('/'));
  try {
    const result = await work(sink);
    await sink.flush();
    await sink.finish('success');
    return result;
  } finally {
    await sink.close();
  }
}

/**
 * Moves a query into a new table in one lane; gives the rows as text and whether the pages came as
 * blocks.
 */
async function move(
  query: string,
  definition: string,
  lane: Lane,
): Promise<{ rows: unknown[]; blocks: boolean; unknown: unknown[] }> {
  const table = `t${(tables += 1)}`;
  const unknown: unknown[] = [];
  await client.query(`CREATE TABLE ${table} (${definition})`);
  const pages = await pagesOf({ query, batch_size: 100 }, lane);
  await into({ table_name: table, column_mapping: 'auto_map' }, async (sink) => {
    for (const page of pages) {
      const told = await sink.write(page, { partial: false });
      expect(told).toMatchObject({ written: page.count, rejected: [] });
      unknown.push([...(told.unknownFields ?? [])]);
    }
  });
  const { rows } = await client.query<{ row: string }>(
    `SELECT t::text AS row FROM ${table} AS t ORDER BY 1`,
  );
  return {
    rows: rows.map(({ row }) => row),
    blocks: pages.every((page) => page.form.form === 'bytes'),
    unknown,
  };
}

describe('binary rows', () => {
  test('fill a table as records do', async () => {
    const query = 'SELECT * FROM wide ORDER BY id';
    const passed = await move(query, COLUMNS, BINARY);
    expect(passed.blocks).toBe(true);
    expect(passed.rows).toHaveLength(504);
    expect(passed.rows).toEqual((await move(query, COLUMNS, RECORDS_LANE)).rows);
  });

  test.each([
    [
      'columns of other types',
      'SELECT id, n, at, t, d FROM wide',
      'id text, n float8, at text, t text, d numeric',
    ],
    ['columns the table does not have', 'SELECT id, t, b FROM wide', 'id bigint, b boolean'],
    [
      'columns that keep their default',
      'SELECT id, t FROM wide',
      "id bigint, t text, x text DEFAULT 'kept', g text GENERATED ALWAYS AS (upper(t)) STORED",
    ],
    ['texts that fit', 'SELECT id, v FROM wide', 'id bigint, v text'],
    [
      'a column with an identity',
      'SELECT id, t FROM wide',
      'id bigint GENERATED ALWAYS AS IDENTITY, t text',
    ],
    [
      'types without a binary form that all servers share',
      "SELECT id, ARRAY[t, 'x'] AS a, '1 day'::interval AS w FROM wide",
      'id bigint, a text[], w interval',
    ],
  ])('%s', async (_what, query, definition) => {
    const { blocks: _blocks, ...records } = await move(query, definition, RECORDS_LANE);
    expect(await move(query, definition, BINARY)).toMatchObject(records);
  });

  test('read as records are the records', async () => {
    for (const query of [
      'SELECT * FROM wide ORDER BY id',
      "SELECT 'NaN'::float8 AS a, 'NaN'::numeric AS b, '-Infinity'::real AS c, 1::\"char\"::text AS d",
    ]) {
      const [blocks, records] = [
        await pagesOf({ query }, BINARY),
        await pagesOf({ query }, RECORDS_LANE),
      ];
      expect(blocks.flatMap((page) => page.records())).toEqual(
        records.flatMap((page) => page.records()),
      );
    }
    const [page] = await pagesOf({ query: 'SELECT * FROM wide ORDER BY id' }, BINARY);
    expect(page?.slice(10, 13).records()).toEqual(page?.records().slice(10, 13));
  });

  test('values JSON cannot carry arrive as they are', async () => {
    const query = "SELECT 'NaN'::float8 AS d, '[1.00]'::jsonb AS j";
    expect((await move(query, 'd float8, j jsonb', BINARY)).rows).toEqual(['(NaN,[1.00])']);
  });

  test('carry bookmarks from which the rest is what was not read, every so many rows', async () => {
    const query = `SELECT i / 3 AS at, CASE WHEN i BETWEEN 30000 AND 95000 THEN 30000 ELSE i END::numeric AS n, i FROM generate_series(1, 130000) AS i`;
    for (const column of ['at', 'n', 'i']) {
      const config = {
        query,
        batch_size: 9000,
        replication: { type: 'incremental', column, initial_value: 0 },
      };
      const pages = await pagesOf(config, BINARY);
      const marks = pages.flatMap((page) => (page.bookmark === undefined ? [] : [page.bookmark]));
      expect([pages.length, marks.length]).toEqual([
        15,
        expect.toSatisfy((length: number) => length >= 1 && length <= 3),
      ]);
      let read = 0;
      for (const page of pages) {
        read += page.count;
        if (page.bookmark === undefined) continue;
        const rest = await pagesOf(config, BINARY, { bookmark: page.bookmark });
        expect(read + rest.reduce((sum, one) => sum + one.count, 0)).toBe(130_000);
      }
      expect(read).toBe(130_000);
    }
  });

  test('make a table with the types they have', async () => {
    const query = 'SELECT * FROM wide WHERE id <= 500 ORDER BY id';
    for (const [table, more] of [
      ['made', {}],
      ['made_keyed', { write_mode: 'upsert', key: ['id'] }],
    ] as [string, JsonObject][]) {
      const pages = await pagesOf({ query, batch_size: 100 }, BINARY);
      await into({ table_name: table, column_mapping: 'auto_map', ...more }, async (sink) => {
        for (const page of pages) await sink.write(page, { partial: false });
      });
      const types = (name: string) =>
        client.query(
          'SELECT attname, atttypid FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0',
          [name],
        );
      expect((await types(table)).rows).toEqual((await types('wide')).rows);
      expect(
        (await client.query(`SELECT * FROM ${table} EXCEPT ALL SELECT * FROM wide`)).rows,
      ).toEqual([]);
    }
    await expect(client.query('INSERT INTO made_keyed (id) VALUES (1)')).rejects.toThrow(
      'duplicate key',
    );
  });

  test('a page and its token are one transaction, and a page that fails leaves nothing', async () => {
    await client.query('CREATE TABLE strict (id bigint CHECK (id < 150))');
    const pages = await pagesOf(
      { query: 'SELECT id FROM wide ORDER BY id', batch_size: 100 },
      BINARY,
    );
    const told = await into({ table_name: 'strict', column_mapping: 'auto_map' }, async (sink) => {
      await sink.tokens?.write(pages[0] as Page, 'scope', '1');
      await expect(sink.tokens?.write(pages[1] as Page, 'scope', '2')).rejects.toThrow(
        'strict_id_check',
      );
      return sink.tokens?.last('scope');
    });
    expect(told).toBe('1');
    expect((await client.query('SELECT count(*)::int AS n FROM strict')).rows).toEqual([
      { n: 100 },
    ]);
  });

  test('replace rows by their key as records do, and a row without a key fails or is rejected alike', async () => {
    const results: unknown[] = [];
    for (const lane of [BINARY, RECORDS_LANE]) {
      const table = `t${(tables += 1)}`;
      await client.query(
        `CREATE TABLE ${table} (id bigint, at timestamptz PRIMARY KEY, t text, x int DEFAULT 7)`,
      );
      await client.query(
        `INSERT INTO ${table} SELECT -id, at, 'old', 1 FROM wide WHERE id <= 500 AND id % 2 = 0`,
      );
      const query = `SELECT id, at, t FROM wide WHERE id <= 500 UNION ALL SELECT 1000, at, 'last' FROM wide WHERE id = 3 ORDER BY 1`;
      const [page] = await pagesOf({ query }, lane);
      const [keyless] = await pagesOf(
        { query: 'SELECT id, at, t FROM wide WHERE id IN (1, 501) ORDER BY id' },
        lane,
      );
      const told = await into(
        { table_name: table, column_mapping: 'auto_map', write_mode: 'upsert', key: ['at'] },
        async (sink) => [
          await sink.write(page as Page, { partial: false }),
          await sink.write(keyless as Page, { partial: false }).catch(String),
          await sink.write(keyless as Page, { partial: true }),
        ],
      );
      results.push([told, (await client.query(`SELECT * FROM ${table} ORDER BY id`)).rows]);
    }
    expect(results[0]).toEqual(results[1]);
    expect(results[0]).toMatchObject([
      [{ written: 501, rejected: [] }, expect.stringContaining('is null'), { written: 1 }],
      { length: 500 },
    ]);
  });

  test('what only INSERT does to a table is not passed by', async () => {
    await client.query(`
      CREATE TABLE plain (id bigint); CREATE VIEW seen AS SELECT id FROM plain;
      CREATE TABLE ruled (id bigint); CREATE RULE double AS ON INSERT TO ruled DO INSTEAD INSERT INTO plain VALUES (new.id * 1000)`);
    for (const table_name of ['seen', 'ruled']) {
      const pages = await pagesOf({ query: 'SELECT id FROM wide WHERE id <= 2' }, BINARY);
      await into({ table_name, column_mapping: 'auto_map' }, (sink) =>
        sink.write(pages[0] as Page, { partial: false }),
      );
    }
    expect((await client.query('SELECT id::int FROM plain ORDER BY 1')).rows).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 1000 },
      { id: 2000 },
    ]);
  });
});

test('JSON Lines go into one column as they stand', async () => {
  const records = [
    { a: 'tab\t "quote" \\ \\N é\n' },
    { a: [1, { b: null }] },
    5,
    'text',
    null,
    { n: 9007199254740993n },
  ] as JsonValue[];
  const rows = async (page: Page, type: string) => {
    const table = `t${(tables += 1)}`;
    await client.query(`CREATE TABLE ${table} (doc ${type}, x int DEFAULT 7)`);
    const written = await into(
      { table_name: table, column_mapping: { json: { column: 'doc' } } },
      (sink) => sink.write(page, { partial: false }),
    );
    return [written, (await client.query(`SELECT doc::text, x FROM ${table}`)).rows];
  };
  for (const type of ['jsonb', 'json', 'text']) {
    const block = Page.ofBlock(JSON_LINES, JSON_LINES.encode(records), records.length);
    expect(await rows(block, type)).toEqual(await rows(Page.ofRecords(records), type));
  }
});
