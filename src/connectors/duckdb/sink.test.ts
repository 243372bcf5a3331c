import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { duckdbRows, openDuckdb, type Duckdb } from '../../lib/sql/duckdb.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { sqlSinkSuite } from '../../../test/conformance/sql-sink.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { duckdbSink } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'duckdb-sink-'));
const path = join(folder, 'test.duckdb');
let database: Duckdb;
let tables = 0;
beforeAll(async () => {
  database = await openDuckdb(path);
});
afterAll(() => database.close());

const query = (sql: string): Promise<JsonObject[]> => duckdbRows(database.connection, sql);

async function write(config: JsonObject, pages: readonly JsonValue[][]): Promise<void> {
  const checked = check(duckdbSink.config, {
    database: path,
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await duckdbSink.open(checked.value, testContext(folder));
  try {
    for (const page of pages) await sink.write(Page.ofRecords(page), { partial: false });
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

describe('the duckdb sink', () => {
  sqlSinkSuite({
    definition: duckdbSink,
    connection: { database: path },
    table: () => `t${(tables += 1)}`,
    exec: async (sql) => void (await database.connection.run(sql)),
    query,
  });

  test.each([
    [{ n: 'x' }, 'a value does not fit its type in the column "n" (DuckDB: Could not convert'],
    [{ n: 300 }, 'a value does not fit its type in the column "n" (DuckDB: Could not convert'],
    [{ day: '2024-13-45' }, 'a value does not fit its type in the column "day" (DuckDB: date'],
    [{ name: null }, 'a value is missing where the column takes no null (DuckDB: NOT NULL'],
  ])('a refused value is told with its column and record: %j', async (bad, message) => {
    await database.connection.run(
      'CREATE OR REPLACE TABLE refusing (id INTEGER PRIMARY KEY, n TINYINT, day DATE, name VARCHAR NOT NULL)',
    );
    const modes: JsonObject[] = [{}, { write_mode: 'upsert', key: ['id'] }];
    const good = { n: 1, day: '2024-02-29', name: 'a' };
    const records = [
      { id: 1, ...good },
      { id: 2, ...good },
      { id: 3, ...good, ...bad },
    ];
    for (const mode of modes)
      await expect(write({ table_name: 'refusing', ...mode }, [records])).rejects.toMatchObject({
        message: expect.stringContaining(message) as string,
        hint: expect.any(String) as string,
        record: 2,
      });
  });

  test.each([
    ['', 'a field has no name'],
    ['x\0', 'the field "x\\u0000" has a zero byte in its name'],
  ])('a field called %j is told before a table is made', async (name, message) => {
    await expect(write({ table_name: 'unnamed' }, [[{ id: 1, [name]: 2 }]])).rejects.toMatchObject({
      message: expect.stringContaining(message) as string,
      hint: expect.stringContaining('rename the field') as string,
    });
  });

  test.each<[string, JsonObject[], number | undefined]>([
    ['of its page', [{ id: 1 }, { id: 2 }, { id: 1 }], 2],
    ['of the table', [{ id: 1 }, { id: 7 }], 1],
    ['of several columns', [{ id: 1 }, { id: 2, a: 5, b: 'x, y' }, { id: 3, a: 5, b: 'x, y' }], 2],
    ['of the table, of several columns', [{ id: 1 }, { id: 2, a: 7, b: 'q' }], 1],
  ])('a key that is there already is told with its record: %s', async (_name, records, record) => {
    await database.connection.run(
      'CREATE OR REPLACE TABLE keyed (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, UNIQUE (a, b))',
    );
    await database.connection.run("INSERT INTO keyed VALUES (7, 7, 'q')");
    const rows = records.map((one) => ({ a: null, b: null, ...one }));
    await expect(write({ table_name: 'keyed' }, [rows])).rejects.toMatchObject({
      kind: 'data',
      message: expect.stringContaining(': a key is there already (DuckDB: ') as string,
      hint: expect.stringContaining('`write_mode: upsert`') as string,
      record,
    });
  });

  test('nested values become JSON in a table the sink makes', async () => {
    await write({ table_name: 'v' }, [
      [{ b: true, o: { a: [1, 10n ** 18n] }, l: ['x'], n: 7, big: 10n ** 25n, r: 0.1 }],
    ]);
    expect(await query('SELECT *, typeof(o) AS t FROM v')).toEqual([
      {
        b: true,
        o: { a: [1, 10n ** 18n] },
        l: ['x'],
        n: 7,
        big: '10000000000000000000000000',
        r: 0.1,
        t: 'JSON',
      },
    ]);
  });

  test('values take the type of their column, nested ones too', async () => {
    await database.connection.run(
      'CREATE TABLE typed (d DECIMAL(38, 10), h HUGEINT, "at" TIMESTAMPTZ, day DATE, x BLOB, s STRUCT(a BIGINT, t VARCHAR), l DOUBLE[], u UUID)',
    );
    const record = {
      d: '1234567890123456789012345678.0123456789',
      h: 2n ** 100n,
      at: '2024-01-02T03:04:05.678901Z',
      day: '2024-01-02',
      x: 'AP8=',
      s: { a: 9_007_199_254_740_993n, t: "it's" },
      l: [1.5, 2],
      u: '0190b1c2-0000-7000-8000-000000000000',
    };
    await write({ table_name: 'typed' }, [[record, { d: null, s: null }]]);
    expect((await query('SELECT * FROM typed'))[0]).toEqual(record);
    expect(
      (await query('SELECT count(*) AS n FROM typed WHERE s IS NULL AND d IS NULL'))[0],
    ).toEqual({ n: 1 });
  });

  test('an era, as PostgreSQL writes it, stays in dates and timestamps', async () => {
    await database.connection.run(
      'CREATE TABLE eras (day DATE, time TIMESTAMP, moment TIMESTAMPTZ, days DATE[], name VARCHAR)',
    );
    const record = {
      day: '0044-03-15 BC',
      time: '0044-03-15 12:00:00.5 BC',
      moment: '0044-03-15 12:00:00+00 BC',
      days: ['0044-03-15 BC', '2024-01-02'],
      name: '0044-03-15 BC',
    };
    await write({ table_name: 'eras' }, [[record]]);
    const years =
      'year(day) d, year(time) t, epoch(moment) m, year(days[1]) f, year(days[2]) l, name';
    expect(await query(`SELECT ${years} FROM eras`)).toEqual([
      {
        d: -43,
        t: -43,
        m: Date.UTC(-43, 2, 15, 12) / 1000,
        f: -43,
        l: 2024,
        name: '0044-03-15 BC',
      },
    ]);
  });

  test('rows that another connection is changing are waited for', async () => {
    const { connection } = database;
    await connection.run('CREATE TABLE contested (id INTEGER PRIMARY KEY, name VARCHAR)');
    await connection.run("INSERT INTO contested VALUES (1, 'old')");
    await connection.run('BEGIN');
    await connection.run("UPDATE contested SET name = 'theirs' WHERE id = 1");
    const change = write({ table_name: 'contested', write_mode: 'upsert', key: ['id'] }, [
      [{ id: 1, name: 'ours' }],
    ]);
    await Promise.race([change, sleep(300)]);
    await connection.run('COMMIT');
    await change;
    expect(await query('SELECT id, name FROM contested')).toEqual([{ id: 1, name: 'ours' }]);
  });

  test('an overwrite refuses a page that a CHECK of the table refuses', async () => {
    await database.connection.run(
      'CREATE TABLE checked (id INTEGER, n INTEGER CHECK (n >= 0), CHECK (n > id))',
    );
    const config = { table_name: 'checked', write_mode: 'overwrite' };
    for (const n of [-1, 4])
      await expect(write(config, [[{ id: 1, n: 2 }], [{ id: 5, n }]])).rejects.toThrow(
        /^writing to .*CHECK constraint/s,
      );
    await write(config, [[{ id: 1, n: 2 }]]);
    expect(await query('SELECT * FROM checked')).toEqual([{ id: 1, n: 2 }]);
  });

  test('an overwrite keeps the key of the table and may bring the same keys again', async () => {
    const keyed = { table_name: 'kept', write_mode: 'upsert', key: ['id'] };
    await write(keyed, [
      [
        { id: 1, v: 'a' },
        { id: 2, v: 'b' },
      ],
    ]);
    await write({ table_name: 'kept', write_mode: 'overwrite' }, [
      [
        { id: 2, v: 'c' },
        { id: 3, v: 'd' },
      ],
    ]);
    await write(keyed, [[{ id: 3, v: 'e' }]]);
    expect(await query('SELECT * FROM kept ORDER BY id')).toEqual([
      { id: 2, v: 'c' },
      { id: 3, v: 'e' },
    ]);
  });

  test('columns are widened and may become null', async () => {
    await database.connection.run('CREATE TABLE drift (id BIGINT NOT NULL)');
    const checked = check(duckdbSink.config, {
      database: path,
      table_name: 'drift',
      column_mapping: 'auto_map',
    });
    if (!checked.ok) throw new Error('config');
    const sink = await duckdbSink.open(checked.value, testContext(folder));
    await sink.schema?.evolve?.({
      add: [],
      widen: [{ name: 'id', type: 'number' }],
      relaxNull: ['id'],
    });
    expect(await sink.schema?.current()).toMatchObject([
      { name: 'id', types: ['number', 'integer'], nullable: true },
    ]);
    await sink.close();
  });

  test('a value that does not fit names the column type, and the page leaves nothing', async () => {
    await database.connection.run('CREATE TABLE strict (id BIGINT)');
    await expect(write({ table_name: 'strict' }, [[{ id: 1 }, { id: 'x' }]])).rejects.toMatchObject(
      { kind: 'data' },
    );
    expect(await query('SELECT * FROM strict')).toEqual([]);
  });

  test('the data set is named by path and table', () => {
    const checked = check(duckdbSink.config, { database: 'duckdb://./a.duckdb', table_name: 't' });
    expect(checked.ok && duckdbSink.datasetUri(checked.value)).toBe('duckdb://./a.duckdb?table=t');
  });

  test('a probe of a folder that does not exist fails with a hint and makes nothing', async () => {
    const checked = check(duckdbSink.config, {
      database: join(folder, 'none', 'x.db'),
      table_name: 't',
    });
    if (!checked.ok) throw new Error('config');
    expect(await duckdbSink.probe?.(checked.value, testContext(folder))).toMatchObject([
      { name: 'auth', status: 'fail' },
    ]);
  });
});
