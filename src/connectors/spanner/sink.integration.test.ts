/** The sink against the emulator of Google. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  sharedSpanner,
  type SpannerDatabase,
} from '../../../test/conformance/fixtures/shared-spanner.ts';
import { testContext, type TestContext } from '../../../test/fakes/env.ts';
import { parsed } from '../../../test/fakes/parsed.ts';
import { abortingSpannerEmulator } from '../../../test/servers/spanner.ts';
import { Page } from '../../kit/page.ts';
import type { RecordField } from '../../kit/record-schema.ts';
import type { Sink, WriteOptions, WriteResult } from '../../kit/sink.ts';
import type { ConnectorError } from '../../lib/errors.ts';
import { jsonText, type JsonObject } from '../../lib/text/json.ts';
import { spannerSink } from './index.ts';

const spanner = sharedSpanner();
const WHOLE = { partial: false };

const failureOf = (work: Promise<unknown>): Promise<ConnectorError> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as ConnectorError,
  );

describe.skipIf(spanner.missing !== undefined)(spanner.missing ?? 'the sink', () => {
  let database: SpannerDatabase;
  beforeAll(async () => {
    await spanner.start();
    database = await spanner.database();
  }, 60_000);
  afterAll(() => spanner.stop());

  let made = 0;
  const named = (): string => `t${(made += 1)}`;
  const created = async (columns: string, key = 'id'): Promise<string> => {
    const name = named();
    await database.ddl(`CREATE TABLE ${name} (${columns}) PRIMARY KEY (${key})`);
    return name;
  };
  const open = (config: JsonObject, context: TestContext = testContext('/')): Promise<Sink> =>
    spannerSink.open(parsed(spannerSink, { ...database.config, ...config }), context);
  const write = async (
    config: JsonObject,
    records: readonly JsonObject[],
    { fields, ...options }: Partial<WriteOptions> & { fields?: readonly RecordField[] } = {},
  ): Promise<WriteResult> => {
    const sink = await open(config);
    try {
      const schema = fields && { fields };
      const result = await sink.write(Page.ofRecords([...records], { schema }), {
        ...WHOLE,
        ...options,
      });
      await sink.flush();
      await sink.finish('success');
      return result;
    } finally {
      await sink.close();
    }
  };
  const rows = (table: string): Promise<JsonObject[]> =>
    database.rows(`SELECT * FROM ${table} ORDER BY 1`);
  const columnsOf = (table: string): Promise<JsonObject[]> =>
    database.rows(
      `SELECT column_name AS name, spanner_type AS type, is_nullable AS nullable FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
    );
  const upsert = { write_mode: 'upsert', key: ['id'] };

  it('makes a table of the first page, and none without a key', async () => {
    const table = named();
    const record = { id: 1, n: 1.5, yes: true, s: 'x', list: [1], o: { a: 1 }, none: null };
    await write({ table_name: table, key: ['id'] }, [record, { ID: 2 }]);
    expect((await columnsOf(table)).map(({ name, type }) => [name, type])).toEqual([
      ['id', 'INT64'],
      ['n', 'FLOAT64'],
      ['yes', 'BOOL'],
      ['s', 'STRING(MAX)'],
      ['list', 'JSON'],
      ['o', 'JSON'],
      ['none', 'STRING(MAX)'],
    ]);
    const nothing = { n: null, yes: null, s: null, list: null, o: null, none: null };
    expect(await rows(table)).toEqual([record, { id: 2, ...nothing }]);
    const error = await failureOf(write({ table_name: named() }, [{ id: 1 }]));
    expect([error.kind, error.hint]).toEqual([
      'refused',
      expect.stringContaining('GENERATE_UUID()') as string,
    ]);
    const strange = await failureOf(write({ table_name: named(), key: ['no'] }, [{ id: 1 }]));
    expect(strange.message).toContain('no record of the first page has `no`');
  });

  it('gives fields of known types the columns that hold them', async () => {
    const field = (name: string, type: RecordField['type'], native?: string): RecordField => ({
      name,
      type,
      nullable: true,
      ...(native === undefined ? {} : { native: { system: 'spanner', name: native } }),
    });
    const table = named();
    const record = {
      id: 1,
      money: '12.50',
      long: '1.0000000001',
      bytes: 'AP8=',
      day: '2024-05-06',
      moment: '2024-05-06T07:08:09.123456789Z',
      clock: '2024-05-06T07:08:09',
      tags: ['x', null],
      doc: '{"a": 1}',
      big: 18_446_744_073_709_551_615n,
    };
    await write({ table_name: table, key: ['id'] }, [record], {
      fields: [
        field('id', { kind: 'int32' }),
        field('money', { kind: 'decimal', precision: 10, scale: 2 }),
        field('long', { kind: 'decimal', precision: 20, scale: 10 }),
        field('bytes', { kind: 'binary' }),
        field('day', { kind: 'date' }),
        field('moment', { kind: 'timestamp', unit: 'ns', zone: 'UTC' }),
        field('clock', { kind: 'timestamp', unit: 'us' }),
        field('tags', { kind: 'list', item: { kind: 'utf8' } }, 'ARRAY<STRING(MAX)>'),
        field('doc', { kind: 'json' }),
        field('big', { kind: 'uint64' }),
      ],
    });
    expect((await columnsOf(table)).map(({ type }) => type)).toEqual([
      'INT64',
      'NUMERIC',
      'STRING(MAX)',
      'BYTES(MAX)',
      'DATE',
      'TIMESTAMP',
      'STRING(MAX)',
      'ARRAY<STRING(MAX)>',
      'JSON',
      'NUMERIC',
    ]);
    // A text in a field of documents is a document that is a text.
    expect(await rows(table)).toEqual([{ ...record, money: '12.5', big: '18446744073709551615' }]);
  });

  const TYPED = `id INT64, whole INT64, part FLOAT64, small FLOAT32, yes BOOL, text STRING(3), bytes BYTES(2), day DATE,
    moment TIMESTAMP, money NUMERIC, doc JSON, list ARRAY<INT64>, needed STRING(MAX) NOT NULL DEFAULT ('d')`;

  it.each([
    ['whole', '12', 12],
    ['whole', 9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
    ['whole', true, 1],
    ['part', 'NaN', 'NaN'],
    ['part', '-Infinity', '-Infinity'],
    ['part', '1e3', 1000],
    ['small', 0.1, 0.1],
    ['yes', 'FALSE', false],
    ['text', 'äöü', 'äöü'],
    ['text', 12, '12'],
    ['bytes', 'AP8=', 'AP8='],
    ['day', '2024-05-06T00:00:00Z', '2024-05-06'],
    ['moment', '2024-05-06 09:08:09.5+02:00', '2024-05-06T07:08:09.5Z'],
    ['moment', '2024-05-06', '2024-05-06T00:00:00Z'],
    ['money', '-0.000000001', '-0.000000001'],
    ['money', '1e2', '100'],
    ['doc', { a: [1] }, { a: [1] }],
    ['doc', 'x', 'x'],
    ['list', [1, null, '2'], [1, null, 2]],
  ])('stores in `%s` the value %s', async (column, given, stored) => {
    const table = await created(TYPED);
    await write({ table_name: table }, [{ id: 1, [column]: given }]);
    const [row] = await rows(table);
    expect(row?.[column]).toEqual(stored);
    expect(row?.['needed']).toBe('d');
  });

  it.each([
    ['whole', 'x'],
    ['whole', 1.5],
    ['whole', 2n ** 63n],
    ['part', 'x'],
    ['part', '1e400'],
    ['small', 1e39],
    ['yes', 2],
    ['text', 'four'],
    ['bytes', 'no base64'],
    ['bytes', 'AAEC'],
    ['day', '2024-02-30'],
    ['moment', 'yesterday'],
    ['money', '1e30'],
    ['list', 'x'],
    ['list', ['x']],
    ['needed', null],
  ])('refuses for `%s` the value %s, and only that record', async (column, given) => {
    const table = await created(TYPED);
    const records = [{ id: 1 }, { id: 2, [column]: given as never }, { id: 3 }];
    const result = await write({ table_name: table }, records, { partial: true });
    expect(result.written).toBe(2);
    expect(result.rejected.map(({ index, error }) => [index, error.message])).toEqual([
      [1, expect.stringContaining(`the column \`${column}\` is `)],
    ]);
    expect((await rows(table)).map(({ id }) => id)).toEqual([1, 3]);
    const more = [...records.slice(1, 2), { id: 9, [column]: given as never }];
    const error = await failureOf(write({ table_name: table }, more));
    expect([error.kind, error.record]).toEqual(['data', 0]);
    expect(await rows(table)).toHaveLength(2);
  });

  it('leaves out fields without a column and columns that Spanner fills, and counts rounded values', async () => {
    const table = await created(
      "id INT64, n NUMERIC, twice INT64 AS (id * 2) STORED, made STRING(MAX) DEFAULT ('here')",
    );
    const result = await write({ table_name: table }, [
      { id: 1, n: '1.0000000005', other: 1, twice: 7 },
      { ID: 2, made: null },
    ]);
    expect([...(result.unknownFields ?? [])]).toEqual([
      ['other', 1],
      ['twice', 1],
    ]);
    expect([...(result.roundedFields ?? [])]).toEqual([['n', 1]]);
    expect(await rows(table)).toEqual([
      { id: 1, n: '1.000000001', twice: 2, made: 'here' },
      { id: 2, n: null, twice: 4, made: null },
    ]);
    await expect(
      write({ table_name: table, on_rounding: 'error' }, [{ id: 3, n: '0.0000000001' }]),
    ).rejects.toMatchObject({ kind: 'data' });
  });

  it('fails a commit for a key that is there, and keeps those before it', async () => {
    const table = await created('id INT64, v STRING(MAX)');
    const records = [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 2 }, { id: 5 }];
    const error = await failureOf(write({ table_name: table, batch_size: 2 }, records));
    expect([error.kind, error.hint]).toEqual([
      'data',
      expect.stringContaining('write_mode: upsert'),
    ]);
    expect((await rows(table)).map(({ id }) => id)).toEqual([1, 2]);
    await failureOf(write({ table_name: table, batch_size: 0 }, [{ id: 7 }, { id: 1 }]));
    expect(await rows(table)).toHaveLength(2);
  });

  it('divides a large page, and refuses it where it has to be one commit', async () => {
    const table = await created('id INT64, a INT64, b INT64');
    const large = Array.from({ length: 20_001 }, (_, id) => ({ id, a: 1, b: 2 }));
    const error = await failureOf(write({ table_name: table, batch_size: 0 }, large));
    expect([error.kind, error.message]).toEqual([
      'refused',
      expect.stringContaining('60003 values'),
    ]);
    expect(await rows(table)).toHaveLength(0);
    const result = await write({ table_name: table, batch_size: 1_000_000 }, large);
    expect(result.written).toBe(20_001);
    expect(await database.rows(`SELECT COUNT(*) AS n FROM ${table}`)).toEqual([{ n: 20_001 }]);
  }, 60_000);

  it('wants the primary key as its key, in any order and case', async () => {
    const table = await created('a INT64, b INT64, v STRING(MAX)', 'a, b');
    for (const key of [['a'], ['a', 'v'], ['a', 'b', 'v']]) {
      const error = await failureOf(open({ table_name: table, write_mode: 'upsert', key }));
      expect([error.kind, error.hint]).toEqual(['refused', 'write `key: [a, b]`']);
    }
    const config = { table_name: table, write_mode: 'upsert', key: ['b', 'a'] };
    await write(config, [{ a: 1, b: 2, v: 'x' }]);
    await write(config, [
      { a: 1, b: 2 },
      { b: 2, a: 1, v: 'y' },
      { a: 2, b: 2, v: 'z' },
    ]);
    expect(await rows(table)).toEqual([
      { a: 1, b: 2, v: 'y' },
      { a: 2, b: 2, v: 'z' },
    ]);
    const marker = { delete_marker: { field: '__op', values: ['d'] } };
    await write({ ...config, ...marker }, [
      { b: 2, a: 1, __op: 'd' },
      { a: 1, b: 2 },
    ]);
    expect(await rows(table)).toEqual([
      { a: 1, b: 2, v: null },
      { a: 2, b: 2, v: 'z' },
    ]);
    await write({ table_name: table, write_mode: 'delete', key: ['b', 'a'] }, [{ b: 2, a: 1 }]);
    expect(await rows(table)).toHaveLength(1);
  });

  it('makes a row anew that a page deletes and writes, in whatever commits', async () => {
    const table = await created('id INT64, a STRING(MAX), b STRING(MAX)');
    const marker = { field: '__op', values: ['d'] };
    const config = { table_name: table, ...upsert, delete_marker: marker, batch_size: 1 };
    await write(
      config,
      [1, 2].map((id) => ({ id, a: 'old', b: 'old', __op: 'u' })),
    );
    await write(config, [
      { id: 1, __op: 'd' },
      { id: 2, a: 'new', __op: 'u' },
      { id: 1, a: 'new', __op: 'u' },
      { id: 3, __op: 'd' },
    ]);
    expect(await rows(table)).toEqual([
      { id: 1, a: 'new', b: null },
      { id: 2, a: 'new', b: 'old' },
    ]);
  });

  it('writes to a table of another schema', async () => {
    await database.ddl(
      'CREATE SCHEMA sales',
      'CREATE TABLE sales.orders (id INT64, v STRING(MAX)) PRIMARY KEY (id)',
    );
    await write({ table_name: 'sales.orders', ...upsert }, [{ id: 1, v: 'x' }]);
    expect(await rows('sales.orders')).toEqual([{ id: 1, v: 'x' }]);
  });

  it('adds columns, and drops NOT NULL and keeps the default; it widens none', async () => {
    const table = await created("id INT64, v STRING(5) NOT NULL DEFAULT ('x'), w INT64 NOT NULL");
    const sink = await open({ table_name: table });
    try {
      const { schema } = sink;
      expect((await schema?.current())?.map(({ name, nullable }) => [name, nullable])).toEqual([
        ['id', true],
        ['v', false],
        ['w', false],
      ]);
      const change = {
        add: [
          { name: 'n', type: 'number' as const },
          { name: 'ID', type: 'string' as const },
        ],
        widen: [],
        relaxNull: ['v', 'w', 'id'],
      };
      await schema?.evolve?.(change);
      await schema?.evolve?.(change);
      await sink.write(
        Page.ofRecords([
          { id: 1, n: 2.5 },
          { id: 2, v: null, w: null },
        ]),
        WHOLE,
      );
      const widen = [{ name: 'w', type: 'number' as const }];
      await expect(
        schema?.evolve?.({ add: [], widen, relaxNull: [] }) ?? Promise.resolve(),
      ).rejects.toMatchObject({ kind: 'refused' });
    } finally {
      await sink.close();
    }
    expect(await rows(table)).toEqual([
      { id: 1, v: 'x', w: null, n: 2.5 },
      { id: 2, v: null, w: null, n: null },
    ]);
    expect((await columnsOf(table)).map(({ type, nullable }) => [type, nullable])).toEqual([
      ['INT64', 'YES'],
      ['STRING(5)', 'YES'],
      ['INT64', 'YES'],
      ['FLOAT64', 'YES'],
    ]);
  });

  it('removes rows that are in the scope and not in the read', async () => {
    const table = await created('id STRING(9), part INT64, day DATE', 'id, part');
    const config = { table_name: table, write_mode: 'upsert', key: ['id', 'part'] };
    const record = (id: string, part: number, day: string | null) => ({ id, part, day });
    const [one, two] = ['2024-05-06', '2024-05-07'];
    await write(config, [
      record('a', 1, one),
      record('a', 2, one),
      record('b', 1, one),
      record('c', 1, two),
      record('d', 1, null),
    ]);
    const sink = await open(config);
    try {
      expect(
        await sink.sweep?.({
          scope: { day: one },
          keys: [
            ['a', '1'],
            ['b', 2],
          ],
        }),
      ).toBe(2);
      expect(await sink.sweep?.({ scope: { day: null }, keys: [] })).toBe(1);
    } finally {
      await sink.close();
    }
    expect((await rows(table)).map(({ id, part }) => [id, part])).toEqual([
      ['a', 1],
      ['c', 1],
    ]);
  });

  it('stores a token with the time of its commit', async () => {
    const table = await created('id INT64');
    const sink = await open({ table_name: table });
    try {
      expect(await sink.tokens?.last('p::r')).toBeUndefined();
      await sink.tokens?.write(Page.ofRecords([{ id: 1 }]), 'p::r', '1');
    } finally {
      await sink.close();
    }
    const [stored] = await database.rows("SELECT * FROM svc_commit_token WHERE scope = 'p::r'");
    expect(stored).toMatchObject({ scope: 'p::r', token: '1' });
    const time = jsonText(stored?.['updated_at'] ?? '');
    expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000);
  });

  it('commits nothing for an execution that another one has followed, or beside another run', async () => {
    const table = await created('id INT64');
    const execution = (claim: number): Promise<Sink> =>
      open({ table_name: table }, testContext('/', { runId: 'run', claim }));
    const page = (id: number): Page => Page.ofRecords([{ id }]);
    const [first, second] = [await execution(1), await execution(2)];
    const [one, other] = [await open({ table_name: table }), await open({ table_name: table })];
    try {
      await first.tokens?.last('s');
      await first.tokens?.write(page(1), 's', '1');
      expect(await second.tokens?.last('s')).toBe('1');
      for (const late of [
        () => first.tokens?.write(page(2), 's', '2'),
        () => first.tokens?.last('s'),
      ])
        expect((await failureOf(Promise.resolve(late()))).message).toContain('took over the run');
      await second.tokens?.write(page(3), 's', '2');

      expect(await one.tokens?.last('o')).toBeUndefined();
      expect(await other.tokens?.last('o')).toBeUndefined();
      await one.tokens?.write(page(4), 'o', '1');
      const beside = await failureOf(Promise.resolve(other.tokens?.write(page(5), 'o', '1')));
      expect(beside.message).toContain('something else was committed');
      await one.tokens?.forget('o');
      expect(await other.tokens?.last('o')).toBeUndefined();
    } finally {
      await Promise.all([first, second, one, other].map((sink) => sink.close()));
    }
    expect((await rows(table)).map(({ id }) => id)).toEqual([1, 3, 4]);
  });

  it('makes a table for dead letters, in which one may stand twice', async () => {
    const table = named();
    const dlq = testContext('/', { role: 'dlq' });
    const config = { table_name: table, ...upsert };
    const sink = await open(config, dlq);
    await sink.write(
      Page.ofRecords([
        { id: 1, svc_id: 'x' },
        { id: 1, svc_id: 'x' },
      ]),
      WHOLE,
    );
    await sink.close();
    const found = await database.rows(`SELECT id, svc_id FROM ${table}`);
    expect(found).toEqual([
      { id: 1, svc_id: 'x' },
      { id: 1, svc_id: 'x' },
    ]);
  });

  const probed = async (config: JsonObject) => {
    const whole = parsed(spannerSink, { ...database.config, ...config });
    const found = await spannerSink.probe?.(whole, testContext('/'));
    return found?.map(({ name, status }) => `${name} ${status}`);
  };

  it('says what is wrong before a run', async () => {
    const table = await created('id INT64, v STRING(MAX)');
    const good = ['auth pass', 'schema pass'];
    const bad = ['auth pass', 'schema fail'];
    expect(await probed({ table_name: table, ...upsert })).toEqual(good);
    expect(await probed({ table_name: table })).toEqual(good);
    expect(await probed({ table_name: named(), key: ['id'] })).toEqual(good);
    expect(await probed({ table_name: named() })).toEqual(bad);
    expect(await probed({ table_name: named(), key: ['id'], create_table: false })).toEqual(bad);
    expect(await probed({ table_name: named(), key: ['id'], write_mode: 'delete' })).toEqual(bad);
    expect(await probed({ table_name: table, write_mode: 'upsert', key: ['v'] })).toEqual(bad);
    expect(await probed({ table_name: table, write_mode: 'upsert', key: ['no'] })).toEqual(bad);
    expect(await probed({ table_name: table, database: 'nowhere' })).toEqual(['auth fail']);
  });
});

const aborting = sharedSpanner(abortingSpannerEmulator);

describe.skipIf(aborting.missing !== undefined)(aborting.missing ?? 'aborted commits', () => {
  beforeAll(() => aborting.start(), 60_000);
  afterAll(() => aborting.stop());

  it('are made again, each once, also beside each other', async () => {
    const database = await aborting.database('CREATE TABLE t (id INT64) PRIMARY KEY (id)');
    const whole = parsed(spannerSink, { ...database.config, table_name: 't' });
    const writeAll = async (writer: number): Promise<void> => {
      const sink = await spannerSink.open(whole, testContext('/'));
      try {
        for (let at = 0; at < 20; at += 1)
          await sink.tokens?.write(
            Page.ofRecords([{ id: writer * 100 + at }]),
            `s${writer}`,
            String(at),
          );
      } finally {
        await sink.close();
      }
    };
    await Promise.all([0, 1, 2].map(writeAll));
    expect(await database.rows('SELECT COUNT(*) AS n FROM t')).toEqual([{ n: 60 }]);
    expect(await database.rows('SELECT token FROM svc_commit_token ORDER BY scope')).toEqual(
      Array.from({ length: 3 }, () => ({ token: '19' })),
    );
  }, 60_000);
});
