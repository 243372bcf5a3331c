import { afterAll, describe, expect, test } from 'vitest';
import { sqlSinkSuite } from '../../../test/conformance/sql-sink.ts';
import { testContext, type TestContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { startFakeMssql } from '../../../test/servers/mssql.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { Link } from '../_mssql/connection.ts';
import { sqlPieces } from '../_sql/sql-text.ts';
import { mssqlSink, mssqlSource } from './index.ts';

const server = await startFakeMssql();
let tables = 0;
const table = (): string => `t${(tables += 1)}`;

async function exec(sql: string): Promise<void> {
  const link = await Link.open({ connection_url: server.url }, { timeoutSecs: 30 });
  try {
    await link.ask(inTsql(sql));
  } finally {
    link.close();
  }
}

/** The shared suite writes types as the standard does. */
function inTsql(sql: string): string {
  return sqlPieces(sql)
    .map(({ kind, text }) =>
      kind === 'code'
        ? text
            .replaceAll(/\bAS text\)/g, 'AS NVARCHAR(MAX))')
            .replaceAll(/\bTEXT\b/g, 'NVARCHAR(MAX)')
            .replaceAll(/\bINTEGER\b/g, 'INT')
        : text,
    )
    .join('');
}

async function query(sql: string): Promise<JsonObject[]> {
  const checked = check(mssqlSource.config, { connection_url: server.url, query: inTsql(sql) });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const pages = await readAll(await mssqlSource.open(checked.value, testContext('/')), {});
  return pages.flatMap((page) => page.records() as JsonObject[]);
}

function configOf(config: JsonObject) {
  const checked = check(mssqlSink.config, {
    connection_url: server.url,
    column_mapping: { type: 'auto_columns' },
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonValue[])[],
  { context = testContext('/'), schema }: { context?: TestContext; schema?: RecordSchema } = {},
): Promise<void> {
  const sink = await mssqlSink.open(configOf(config), context);
  try {
    for (const page of pages)
      await sink.write(Page.ofRecords(page, { schema }), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

afterAll(() => server.close());

describe('the mssql sink', () => {
  sqlSinkSuite({
    definition: mssqlSink,
    connection: { connection_url: server.url },
    table,
    exec,
    query,
  });

  test('a page that is too large for parameters is loaded in bulk', async () => {
    const name = table();
    const text = 'x'.repeat(5000);
    const records = Array.from({ length: 1500 }, (_, at) => ({
      id: at,
      name: at % 2 === 0 ? null : `n${at}`,
      long: at === 7 ? text : 'short',
    }));
    const seen: string[] = [];
    server.watch((statement) => void seen.push(statement));
    await write({ table: name, batch_size: 0 }, [records]).finally(() => server.watch(undefined));
    expect(seen.filter((one) => one.startsWith('INSERT INTO'))).toEqual([
      expect.stringContaining('FROM "#svc_page" AS v') as string,
    ]);
    expect(await query(`SELECT * FROM [${name}] ORDER BY id`)).toEqual(records);
    const changed = records.map((record) => ({ ...record, name: 'new' }));
    const [first] = changed;
    const keyed = table();
    const how = { table: keyed, write_mode: 'upsert', key: ['id'], batch_size: 0 };
    await write(how, [records, [...changed, { ...first, name: 'last' }]]);
    const found = await query(`SELECT name FROM [${keyed}] ORDER BY id`);
    expect([found.length, found[0], found[1]]).toEqual([1500, { name: 'last' }, { name: 'new' }]);
  });

  test('a page is written whole in statements of a few rows', async () => {
    const name = table();
    const records = Array.from({ length: 5 }, (_, id) => ({ id }));
    await write({ table: name, batch_size: 2 }, [records]);
    const keyed = { table: name, write_mode: 'delete', key: ['id'], batch_size: 2 };
    expect(await query(`SELECT id FROM [${name}] ORDER BY id`)).toEqual(records);
    await write(keyed, [records.slice(0, 4)]);
    expect(await query(`SELECT id FROM [${name}]`)).toEqual([{ id: 4 }]);
  });

  test('values of all types keep their digits', async () => {
    const name = table();
    await exec(
      `CREATE TABLE [${name}] (id INT, d DECIMAL(38,10), m MONEY, b BIGINT, f FLOAT, r REAL, t BIT, dt DATETIME2(7), o DATETIMEOFFSET(7), da DATE, ti TIME(7), u UNIQUEIDENTIFIER, vb VARBINARY(MAX))`,
    );
    const record = {
      id: 1,
      d: '-1234567890123456789012345678.0123456789',
      m: '922337203685477.5807',
      b: 9_223_372_036_854_775_807n,
      f: 0.1,
      r: 0.1,
      t: true,
      dt: '2024-05-06T07:08:09.1234567',
      o: '2024-05-06T07:08:09.1234567Z',
      da: '2024-05-06',
      ti: '07:08:09.1234567',
      u: '6f9619ff-8b86-d011-b42d-00c04fc964ff',
      vb: 'AAEJCl//',
    };
    const others = {
      ...record,
      id: 2,
      d: 1e3,
      o: '2024-05-06T09:08:09.5+02:00',
      dt: '2024-05-06 09:08:09+02:00',
      t: '0',
    };
    await write({ table: name }, [[record, others]]);
    expect(await query(`SELECT * FROM [${name}] ORDER BY id`)).toEqual([
      record,
      {
        ...record,
        id: 2,
        d: '1000.0000000000',
        o: '2024-05-06T07:08:09.5000000Z',
        dt: '2024-05-06T07:08:09.0000000',
        t: false,
      },
    ]);
  });

  test.each([
    ['n', '', 'not a number'],
    ['n', '12abc', 'not a number'],
    ['m', '1,5', 'not a number'],
    ['d', '', 'not a date'],
    ['d', '05/06/2024', 'not a date'],
    ['dt', '06.05.2024 07:08', 'not a time'],
    ['u', '6f9619ff-8b86-d011-b42d-00c04fc964ff-and-more', 'not a UUID'],
    ['vb', 'not base64', 'not base64'],
    ['t', 'perhaps', 'not true or false'],
  ])(
    '%s: %o, which the server would convert to something else, is refused',
    async (field, value, message) => {
      const name = table();
      await exec(
        `CREATE TABLE [${name}] (id INT, n INT, m MONEY, d DATE, dt DATETIME, u UNIQUEIDENTIFIER, vb VARBINARY(10), t BIT)`,
      );
      const error = await failureOf(
        write({ table: name }, [[{ id: 1 }, { id: 2, [field]: value }]]),
      );
      expect(error.message).toContain(message);
      expect(await query(`SELECT id FROM [${name}]`)).toEqual([]);
    },
  );

  test('letters that the code page of a column does not have are refused', async () => {
    const name = table();
    await exec(`CREATE TABLE [${name}] (id INT, v VARCHAR(20))`);
    await write({ table: name }, [[{ id: 1, v: 'Käse é' }]]);
    await expect(write({ table: name }, [[{ id: 2, v: '日本' }]])).rejects.toThrow(/`v`/);
    expect(await query(`SELECT v FROM [${name}]`)).toEqual([{ v: 'Käse é' }]);
  });

  test('refused rows are found, and all others are written', async () => {
    const name = table();
    await exec(`CREATE TABLE [${name}] (id INT NOT NULL PRIMARY KEY, v NVARCHAR(3))`);
    const sink = await mssqlSink.open(configOf({ table: name }), testContext('/'));
    const records = Array.from({ length: 20 }, (_, id) => ({ id, v: 'abc' as string }));
    records[3] = { id: 3, v: 'too long' };
    records[11] = { id: 2, v: 'dup' };
    records[19] = { id: 19, v: 'too long' };
    const result = await sink.write(Page.ofRecords(records), { partial: true });
    await sink.flush();
    expect(result.rejected.map(({ index }) => index)).toEqual([3, 11, 19]);
    expect(result.written).toBe(17);
    expect(await query(`SELECT id FROM [${name}] ORDER BY id`)).toHaveLength(17);
    await sink.close();
    const whole = await mssqlSink.open(
      configOf({ table: name, isolate_row_failures: false }),
      testContext('/'),
    );
    await expect(
      whole.write(Page.ofRecords([{ id: 50 }, { id: 51, v: 'too long' }]), { partial: true }),
    ).rejects.toThrow(/too long/);
    await whole.close();
  });

  test('keys that the collation finds equal are one row, and those of a new table are not', async () => {
    const name = table();
    await exec(`CREATE TABLE [${name}] (id NVARCHAR(20) NOT NULL PRIMARY KEY, v INT)`);
    const records = [
      { id: 'a', v: 1 },
      { id: 'A', v: 2 },
    ];
    const how = { write_mode: 'upsert', key: ['id'] };
    await write({ table: name, ...how }, [records]);
    expect((await query(`SELECT v FROM [${name}]`)).map(({ v }) => v)).toEqual([2]);
    const fresh = table();
    await write({ table: fresh, ...how }, [records]);
    expect(await query(`SELECT v FROM [${fresh}] ORDER BY v`)).toHaveLength(2);
  });

  test('a key that is longer than its column is not cut to another one', async () => {
    const name = table();
    await exec(`CREATE TABLE [${name}] (id NVARCHAR(3) NOT NULL PRIMARY KEY, v INT)`);
    const how = { table: name, write_mode: 'upsert', key: ['id'] };
    await write(how, [[{ id: 'abc', v: 1 }]]);
    await expect(write(how, [[{ id: 'abcd', v: 2 }]])).rejects.toThrow(/not short enough/);
    expect(await query(`SELECT v FROM [${name}]`)).toEqual([{ v: 1 }]);
  });

  test('an identity column is left to the server, unless it is the key', async () => {
    const name = table();
    await exec(
      `CREATE TABLE [${name}] (id INT IDENTITY(1,1) PRIMARY KEY, v NVARCHAR(10), twice AS (id))`,
    );
    await write({ table: name }, [[{ id: 70, v: 'a', twice: 1 }]]);
    expect(await query(`SELECT id, v FROM [${name}]`)).toEqual([{ id: 1, v: 'a' }]);
    await write({ table: name, write_mode: 'upsert', key: ['id'] }, [
      [
        { id: 1, v: 'b' },
        { id: 70, v: 'c' },
      ],
    ]);
    expect(await query(`SELECT id, v FROM [${name}] ORDER BY id`)).toEqual([
      { id: 1, v: 'b' },
      { id: 70, v: 'c' },
    ]);
  });

  test('a deadlock is tried again, once the server has rolled back', async () => {
    const name = table();
    await write({ table: name }, [[{ id: 0 }]]);
    let left = 2;
    server.watch((statement) => {
      if (!statement.startsWith('INSERT INTO') || left === 0) return undefined;
      left -= 1;
      return 1205;
    });
    await write({ table: name }, [[{ id: 1 }]]).finally(() => server.watch(undefined));
    expect([left, await query(`SELECT id FROM [${name}] ORDER BY id`)]).toEqual([
      0,
      [{ id: 0 }, { id: 1 }],
    ]);
  });

  test('a page whose commit fails is not told as written', async () => {
    const name = table();
    await write({ table: name }, [[{ id: 0 }]]);
    server.watch((statement) => (statement === 'COMMIT' ? 3980 : undefined));
    const failed = write({ table: name }, [[{ id: 1 }]]).finally(() => server.watch(undefined));
    await expect(failed).rejects.toThrow(/3980/);
    expect(await query(`SELECT id FROM [${name}]`)).toEqual([{ id: 0 }]);
  });

  test.each([
    ['error', /no column `other`/],
    ['drop', undefined],
  ])('fields without a column: %s', async (on_unknown_field, message) => {
    const name = table();
    await write({ table: name }, [[{ id: 1 }]]);
    const column_mapping = { type: 'auto_columns', on_unknown_field };
    const sink = await mssqlSink.open(configOf({ table: name, column_mapping }), testContext('/'));
    const page = Page.ofRecords([{ ID: 2 }, { id: 3, other: 1 }]);
    if (message === undefined)
      expect(await sink.write(page, { partial: false })).toEqual({ written: 2, rejected: [] });
    else await expect(sink.write(page, { partial: false })).rejects.toThrow(message);
    await sink.close();
    const found = await query(`SELECT id FROM [${name}] ORDER BY id`);
    expect(found).toHaveLength(message === undefined ? 3 : 1);
  });

  test('an overwrite keeps the defaults of the table', async () => {
    const name = table();
    await exec(`CREATE TABLE [${name}] (id INT, made NVARCHAR(10) NOT NULL DEFAULT 'here')`);
    await write({ table: name, write_mode: 'overwrite' }, [[{ id: 1 }, { id: 2, made: 'there' }]]);
    expect(await query(`SELECT * FROM [${name}] ORDER BY id`)).toEqual([
      { id: 1, made: 'here' },
      { id: 2, made: 'there' },
    ]);
  });

  test('columns are widened and may become null', async () => {
    const name = table();
    await exec(`CREATE TABLE [${name}] (id INT NOT NULL, v NVARCHAR(5) NOT NULL)`);
    const sink = await mssqlSink.open(configOf({ table: name }), testContext('/'));
    await sink.schema?.evolve?.({
      add: [],
      widen: [{ name: 'id', type: 'number' }],
      relaxNull: ['v'],
    });
    const live = await sink.schema?.current();
    expect(live?.map(({ name: column, types, nullable }) => [column, types, nullable])).toEqual([
      ['id', ['number'], false],
      ['v', ['string'], true],
    ]);
    await sink.close();
    await write({ table: name }, [[{ id: 1.5, v: null }]]);
    expect(await query(`SELECT * FROM [${name}]`)).toEqual([{ id: 1.5, v: null }]);
    await expect(write({ table: name }, [[{ id: 2, v: 'too long' }]])).rejects.toThrow(/too long/);
  });

  test('rounded values are counted', async () => {
    const name = table();
    await exec(
      `CREATE TABLE [${name}] (id INT, d DECIMAL(8,2), t DATETIME, s SMALLDATETIME, p DATETIME2(3))`,
    );
    const sink = await mssqlSink.open(configOf({ table: name }), testContext('/'));
    const moment = '2024-05-06T07:08:09.1234567';
    const { roundedFields } = await sink.write(
      Page.ofRecords([
        { id: 1, d: '1.105', t: moment, s: moment, p: moment },
        {
          id: 2,
          d: '1.10',
          t: '2024-05-06T07:08:09.123',
          s: '2024-05-06T07:08:00',
          p: '2024-05-06T07:08:09.123',
        },
      ]),
      { partial: false },
    );
    await sink.close();
    expect([...(roundedFields ?? [])]).toEqual([
      ['d', 1],
      ['t', 1],
      ['s', 1],
      ['p', 1],
    ]);
  });

  test('long scopes are kept apart', async () => {
    const name = table();
    const sink = await mssqlSink.open(configOf({ table: name }), testContext('/'));
    const scope = (end: string): string => `p::${'x'.repeat(500)}${end}`;
    await sink.tokens?.write(Page.ofRecords([{ id: 1 }]), scope('a'), '00000000000000000001');
    expect(await sink.tokens?.last(scope('a'))).toBe('00000000000000000001');
    expect(await sink.tokens?.last(scope('b'))).toBeUndefined();
    await sink.tokens?.forget(scope('a'));
    expect(await sink.tokens?.last(scope('a'))).toBeUndefined();
    await sink.close();
  });

  test('a table of another schema is written, and its staging table lies there too', async () => {
    await server.behind.query('CREATE SCHEMA sales');
    const config = { table: 'sales.orders', write_mode: 'overwrite' };
    await write(config, [[{ id: 1 }]]);
    await write(config, [[{ id: 2 }]]);
    expect(await query('SELECT id FROM sales.orders')).toEqual([{ id: 2 }]);
  });
});
