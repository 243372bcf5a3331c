import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { isSpent } from '../../lib/spent-attempts.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { SinkContext } from '../../kit/context.ts';
import { sqlSinkSuite } from '../../../test/conformance/sql-sink.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { postgresSink } from './index.ts';
import { failureOf } from '../../../test/fakes/failure.ts';

/** The server may take a moment on a busy machine. */
const PATIENT = { timeout: 10_000 };

const database = await freshDatabase();
const client = new Client({ connectionString: database.url, types: { getTypeParser: numbers } });
let tables = 0;
const table = (): string => `t${(tables += 1)}`;

/** Integers as numbers, so that both databases of the shared suite answer alike. */
function numbers(oid: number): (text: string) => unknown {
  return [20, 21, 23, 701].includes(oid)
    ? Number
    : oid === 3802
      ? (text) => JSON.parse(text) as unknown
      : (text) => text;
}

beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function query(sql: string): Promise<JsonObject[]> {
  return (await client.query<JsonObject>(sql)).rows;
}

function configOf(config: JsonObject) {
  const checked = check(postgresSink.config, {
    connection_url: database.url,
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonValue[])[],
  context: Partial<SinkContext> = {},
): Promise<void> {
  const sink = await postgresSink.open(configOf(config), testContext('/', context));
  try {
    for (const page of pages) await sink.write(Page.ofRecords(page), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

test('a page is not sent again when the connection took those that were held before it', async () => {
  const name = table();
  await client.query(`CREATE TABLE ${name} (id bigint)`);
  const sink = await postgresSink.open(configOf({ table_name: name }), testContext('/'));
  const page = (id: number): Page => Page.ofRecords([{ id }]);
  const commit = (): Promise<unknown> =>
    Promise.resolve(sink.tokens?.write(page(2), 'scope', '1')).catch((error: unknown) => error);
  try {
    await sink.tokens?.hold(page(1));
    await client.query(
      'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    const lost = await commit();
    // The commit may have been done: whoever repeats it looks for it first.
    expect([lost, isSpent(lost)]).toEqual([expect.objectContaining({ kind: 'connection' }), false]);
    const repeated = await commit();
    expect([repeated === lost, isSpent(repeated)]).toEqual([true, true]);
    expect(await sink.tokens?.last('scope')).toBeUndefined();
  } finally {
    await sink.close();
  }
  expect(await query(`SELECT * FROM ${name}`)).toEqual([]);
});

describe.each(['insert', 'copy', 'auto'])('the postgres sink by %s', (write_method) => {
  sqlSinkSuite({
    definition: postgresSink,
    connection: { connection_url: database.url, write_method },
    table,
    exec: async (sql) => void (await client.query(sql)),
    query,
  });

  test('the server reads every value as the type of its column', async () => {
    const name = table();
    await client.query(
      `CREATE TABLE ${name} (at timestamptz, u uuid, n numeric(10,2), j jsonb, a text[], b boolean, s text, d date)`,
    );
    await write({ table_name: name, write_method }, [
      [
        {
          at: '2024-05-06T07:08:09.123456Z',
          u: '0189c0de-0000-7000-8000-000000000000',
          n: '12345678.90',
          j: { a: [1] },
          a: ['x', 'a "b" \\', null],
          b: true,
          s: 'tab\tline\n\\N',
          d: '2024-05-06',
        },
        { j: 'plain', s: 5, n: 1.5 },
        { j: '{"spelled":true}', s: { a: 1 }, a: '{y}' },
      ],
    ]);
    expect(
      await query(
        `SELECT at AT TIME ZONE 'UTC' AS at, u, n, j, a, b::text AS b, s, d FROM ${name}`,
      ),
    ).toEqual([
      {
        at: '2024-05-06 07:08:09.123456',
        u: '0189c0de-0000-7000-8000-000000000000',
        n: '12345678.90',
        j: { a: [1] },
        a: '{x,"a \\"b\\" \\\\",NULL}',
        b: 'true',
        s: 'tab\tline\n\\N',
        d: '2024-05-06',
      },
      { at: null, u: null, n: '1.50', j: 'plain', a: null, b: null, s: '5', d: null },
      {
        at: null,
        u: null,
        n: null,
        j: { spelled: true },
        a: '{y}',
        b: null,
        s: '{"a":1}',
        d: null,
      },
    ]);
  });

  test('a text too long for its column fails instead of being cut', async () => {
    const name = table();
    await client.query(`CREATE TABLE ${name} (v varchar(3), c char(3))`);
    expect(
      (await failureOf(write({ table_name: name, write_method }, [[{ v: 'abcd' }]]))).kind,
    ).toBe('data');
    await write({ table_name: name, write_method }, [[{ v: 'abc', c: 'xyz' }]]);
    expect(await query(`SELECT * FROM ${name}`)).toEqual([{ v: 'abc', c: 'xyz' }]);
  });

  test('keys the server holds equal are one row, the last one wins', async () => {
    const name = table();
    await client.query(`CREATE TABLE ${name} (at timestamptz PRIMARY KEY, v int)`);
    await write({ table_name: name, write_mode: 'upsert', key: ['at'], write_method }, [
      [
        { at: '2024-01-01T00:00:00Z', v: 1 },
        { at: '2024-01-01T01:00:00+01:00', v: 2 },
      ],
    ]);
    expect(await query(`SELECT v FROM ${name}`)).toEqual([{ v: 2 }]);
  });

  test('more values than a statement has parameters are no matter', async () => {
    const name = table();
    const records = Array.from({ length: 3000 }, (_, id) =>
      Object.fromEntries(Array.from({ length: 30 }, (_unused, c) => [`c${c}`, id * c])),
    );
    await write({ table_name: name, write_method, batch_size: 0 }, [records]);
    expect(await query(`SELECT count(*) AS n, sum(c29) AS s FROM ${name}`)).toEqual([
      { n: 3000, s: expect.anything() as JsonValue },
    ]);
  });
});

describe('the postgres sink', () => {
  test('identity columns take the value of the record', async () => {
    const name = table();
    await client.query(
      `CREATE TABLE ${name} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text, up text GENERATED ALWAYS AS (upper(v)) STORED)`,
    );
    await write({ table_name: name }, [[{ id: 7, v: 'a', up: 'ignored' }]]);
    await write({ table_name: name, write_mode: 'overwrite' }, [[{ id: 8, v: 'b' }]]);
    expect(await query(`SELECT * FROM ${name}`)).toEqual([{ id: 8, v: 'b', up: 'B' }]);
  });

  test('a schema qualifies every name', async () => {
    await client.query('CREATE SCHEMA "other one"');
    const config = { table_name: 't', schema: 'other one' };
    await write({ ...config, write_mode: 'upsert', key: ['id'] }, [[{ id: 1 }]]);
    await write({ ...config, write_mode: 'overwrite' }, [[{ id: 2 }]]);
    expect(await query('SELECT * FROM "other one".t')).toEqual([{ id: 2 }]);
    expect(
      postgresSink.datasetUri(configOf({ ...config, connection_url: 'postgres://u:p@h:6000/d' })),
    ).toBe('postgres://h:6000/d?table=other one.t');
  });

  test('a windowed overwrite replaces only the rows inside', async () => {
    const name = table();
    const scope = { window: { column: 'day', from: '2024-01-02', to: '2024-01-03' } };
    const config = { table_name: name, write_mode: 'overwrite', scope };
    await client.query(
      `CREATE TABLE ${name} (day date, v int); INSERT INTO ${name} VALUES ('2024-01-01', 1), ('2024-01-02', 2), ('2024-01-03', 3)`,
    );
    await write(config, [[{ day: '2024-01-02', v: 20 }]]);
    const expected = [
      { day: '2024-01-01', v: 1 },
      { day: '2024-01-02', v: 20 },
      { day: '2024-01-03', v: 3 },
    ];
    expect(await query(`SELECT * FROM ${name} ORDER BY day`)).toEqual(expected);
    expect((await failureOf(write(config, [[{ day: '2024-01-03', v: 30 }]]))).message).toContain(
      'outside the window',
    );
    expect(await query(`SELECT * FROM ${name} ORDER BY day`)).toEqual(expected);
  });

  test('columns can be widened and made nullable', async () => {
    const name = table();
    await client.query(`CREATE TABLE ${name} (id int NOT NULL); INSERT INTO ${name} VALUES (1)`);
    const sink = await postgresSink.open(configOf({ table_name: name }), testContext('/'));
    await sink.schema?.evolve?.({
      add: [],
      widen: [{ name: 'id', type: 'number' }],
      relaxNull: ['id'],
    });
    await sink.write(Page.ofRecords([{ id: 1.5 }, { id: null }]), { partial: false });
    expect(await sink.schema?.current()).toMatchObject([
      { name: 'id', types: ['number'], nullable: true },
    ]);
    await sink.flush();
    await sink.close();
    expect(await query(`SELECT * FROM ${name} ORDER BY 1`)).toEqual([
      { id: 1 },
      { id: 1.5 },
      { id: null },
    ]);
  });

  test('a fired signal ends a write that waits, and nothing of it stays', async () => {
    const name = table();
    await client.query(`CREATE TABLE ${name} (id int); BEGIN; LOCK TABLE ${name}`);
    const stop = new AbortController();
    const reason = new Error('stop');
    const sink = await postgresSink.open(
      configOf({ table_name: name }),
      testContext('/', { signal: stop.signal }),
    );
    const waiting = sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
    const locks =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    await expect.poll(async () => (await query(locks))[0]?.['n'], PATIENT).toBe(1);
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await sink.close();
    await client.query('COMMIT');
    expect(await query(`SELECT * FROM ${name}`)).toEqual([]);
  });

  test('a wrong password is found when the sink is opened, and is not shown', async () => {
    const url = new URL(database.url);
    url.password = 'not-the-password';
    const config = configOf({ table_name: 't', connection_url: url.href });
    const error = await failureOf(postgresSink.open(config, testContext('/')));
    expect(error.kind).toBe('auth');
    expect(error.message).not.toContain('not-the-password');
    expect(await postgresSink.probe?.(config, testContext('/'))).toMatchObject([
      { name: 'auth', status: 'fail' },
    ]);
  });

  test('writers that make the same table at once lose nothing', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = table();
      await Promise.all([1, 2, 3, 4, 5, 6].map((id) => write({ table_name: name }, [[{ id }]])));
      expect(await query(`SELECT count(*) AS n FROM ${name}`)).toEqual([{ n: 6 }]);
    }
  });

  test('different windows of a table are replaced at the same time', async () => {
    const name = table();
    await client.query(
      `CREATE TABLE ${name} (id int, day date); INSERT INTO ${name} VALUES (1, '2024-01-01'), (2, '2024-01-02')`,
    );
    const days = ['2024-01-01', '2024-01-02', '2024-01-03'];
    const into = (from: string, to: string) => ({
      table_name: name,
      write_mode: 'overwrite',
      scope: { window: { column: 'day', from, to } },
    });
    const windows = [days.slice(0, 2), days.slice(1)] as [string, string][];
    const sinks = await Promise.all(
      windows.map(([from, to]) => postgresSink.open(configOf(into(from, to)), testContext('/'))),
    );
    for (const [page, half] of [10, 20].entries()) {
      await Promise.all(
        sinks.map((sink, at) =>
          sink.write(Page.ofRecords([{ id: half + at + page, day: days[at] ?? '' }]), {
            partial: false,
          }),
        ),
      );
    }
    await Promise.all(sinks.map((sink) => sink.finish('success')));
    await Promise.all(sinks.map((sink) => sink.close()));
    expect(await query(`SELECT id, day::text FROM ${name} ORDER BY 1`)).toEqual([
      { id: 10, day: '2024-01-01' },
      { id: 11, day: '2024-01-02' },
      { id: 21, day: '2024-01-01' },
      { id: 22, day: '2024-01-02' },
    ]);
  });

  test('a scope without overwrite is refused', () => {
    const scope = { window: { column: 'day', from: 1, to: 2 } };
    const checked = check(postgresSink.config, {
      connection_url: database.url,
      table_name: 't',
      column_mapping: 'auto_map',
      scope,
    });
    expect(!checked.ok && checked.issues.map((issue) => issue.path)).toEqual(['scope']);
  });
});
