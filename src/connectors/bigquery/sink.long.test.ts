/** The sink against a server that speaks the API and runs the statements. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BigqueryFault } from '../../../test/fakes/bigquery/fault.ts';
import {
  issuesOf,
  named,
  opened,
  parsed,
  quickContext,
  read,
  write,
} from '../../../test/fakes/bigquery/harness.ts';
import { FakeBigquery } from '../../../test/fakes/bigquery/server.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { startFakeGcs, type FakeGcs } from '../../../test/fakes/gcs-server.ts';
import { Page } from '../../kit/page.ts';
import type { RecordField } from '../../kit/record-schema.ts';
import type { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { bigquerySink } from './index.ts';

let fake: FakeBigquery;
let gcs: FakeGcs;
let made = 0;
beforeAll(async () => {
  fake = await FakeBigquery.start();
  gcs = await startFakeGcs();
  gcs.buckets.set('lake', new Map());
  fake.objects = (bucket, key) => gcs.buckets.get(bucket)?.get(key)?.body;
  await fake.engine.addDataset('shop');
});
afterAll(async () => {
  await fake.close();
  await gcs.close();
});
afterEach(() => {
  fake.fault = () => undefined;
  fake.unknowing = 0;
  fake.engine.buffers = false;
  fake.asked.length = 0;
});

async function table(columns: string, more: JsonObject = {}): Promise<JsonObject> {
  const name = `t${(made += 1)}`;
  if (columns !== '') await fake.engine.create(named(name), columns);
  return { ...fake.config(), dataset_id: 'shop', table_id: name, ...more };
}

const nameOf = (config: JsonObject): string => named(config['table_id'] as string);
const rows = (config: JsonObject, by = 'id'): Promise<JsonObject[]> =>
  read({ ...fake.config(), query: `SELECT * FROM ${nameOf(config)} ORDER BY ${by}` });
const streamed = () => fake.asked.filter(({ path }) => path.endsWith('/insertAll'));
const failureOf = (work: Promise<unknown>): Promise<ConnectorError> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as ConnectorError,
  );
const upsert = { write_mode: 'upsert', key: ['id'] };

describe('streamed rows', () => {
  it('are written but for those that BigQuery or their column refuses', async () => {
    const config = await table("id INT64 NOT NULL, v STRING(3), made STRING DEFAULT 'here'", {
      batch_size: 2,
    });
    fake.fault = () => undefined;
    const result = await write(
      config,
      [
        { id: 1, v: 'a' },
        { v: 'b' },
        { id: 'x', v: 'c' },
        { id: 4, v: 'long' },
        { id: 5, made: null },
        { id: 6, made: 'there' },
      ],
      { partial: true },
    );
    expect(result.written).toBe(3);
    expect(result.rejected.map(({ index, error }) => [index, error.message])).toEqual([
      [
        1,
        expect.stringMatching(
          /`id` is INT64 and required, which cannot hold null|Missing required field/,
        ),
      ],
      [2, expect.stringContaining('the column `id` is INT64 and required, which cannot hold "x"')],
      [3, expect.stringContaining('the column `v` is STRING(3), which cannot hold "long"')],
    ]);
    expect(await rows(config)).toEqual([
      { id: 1, v: 'a', made: 'here' },
      { id: 5, v: null, made: null },
      { id: 6, v: null, made: 'there' },
    ]);
  });

  it('that only BigQuery refuses are told in its words, by record', async () => {
    const config = await table('id INT64, place STRUCT<x INT64 NOT NULL>');
    // Somebody makes the column narrower after it was looked at.
    const sink = await opened(config);
    await sink.write(Page.ofRecords([{ id: 0 }]), { partial: true });
    const found = fake.engine.table('shop', config['table_id'] as string);
    if (found !== undefined)
      found.fields = found.fields.map((field) =>
        field.name === 'id' ? { ...field, type: 'BOOL' } : field,
      );
    const page = Page.ofRecords([{ place: { x: 1 } }, { id: 2 }, 'no object', { place: { x: 3 } }]);
    const result = await sink.write(page, { partial: true });
    expect(result.rejected.map(({ index, error }) => [index, error.message])).toEqual([
      [1, 'Cannot convert value to bool: 2 (at `id`)'],
      [2, 'the record is not an object'],
    ]);
    const error = await failureOf(
      sink.write(Page.ofRecords([{}, { place: { x: 4 } }, { id: 5 }]), { partial: false }),
    );
    expect([error.kind, error.message]).toEqual([
      'data',
      expect.stringContaining('Cannot convert value to bool: 5'),
    ]);
    await sink.close();
    const kept = await fake.engine.run(`SELECT COUNT(*) AS n FROM ${nameOf(config)}`);
    expect(JSON.stringify(kept.rows)).toContain('"3"');
  });

  it('are there once when the answer to a request is lost', async () => {
    const config = await table('id INT64');
    let left = 1;
    fake.fault = ({ path }) =>
      path.endsWith('insertAll') && left-- > 0 ? { losesAnswer: true } : undefined;
    await write(config, [{ id: 1 }, { id: 2 }]);
    expect(streamed()).toHaveLength(2);
    expect(await rows(config)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('with an id of their own are not taken twice', async () => {
    const config = await table('id INT64, v STRING', { insert_id_field: 'id' });
    for (const v of ['first', 'again']) await write(config, [{ id: 1, v }, { v: 'none' }]);
    expect((await rows(config, 'v')).map(({ v }) => v)).toEqual(['first', 'none', 'none']);
  });

  it('are sent again until BigQuery knows their table', async () => {
    const config = await table('');
    fake.unknowing = 3;
    await write(config, [{ id: 1, tags: ['a', null], at: null }]);
    expect(streamed()).toHaveLength(4);
    expect(await rows(config)).toEqual([{ id: 1, tags: ['a', null], at: null }]);
    fake.unknowing = 1;
    expect((await failureOf(write(config, [{ id: 2 }]))).kind).toBe('missing');
  });

  it('go in several requests where one would be too large', async () => {
    const config = await table('id INT64, v STRING');
    const large = 'x'.repeat(6_000_000);
    await write(config, [
      { id: 1, v: large },
      { id: 2, v: large },
    ]);
    expect(streamed()).toHaveLength(2);
    const whole = await failureOf(
      write({ ...config, batch_size: 0 }, [
        { id: 1, v: large },
        { id: 2, v: large },
      ]),
    );
    expect(whole.hint).toContain('batch_size');
    const result = await write(config, [{ id: 3, v: 'x'.repeat(9_900_000) }, { id: 4 }], {
      partial: true,
    });
    expect(result.rejected.map(({ index }) => index)).toEqual([0]);
  });

  it('cannot be changed for a while, which is said', async () => {
    const config = await table('id INT64, v STRING');
    fake.engine.buffers = true;
    await write(config, [{ id: 1, v: 'a' }]);
    const error = await failureOf(write({ ...config, ...upsert }, [{ id: 1, v: 'b' }]));
    expect([error.kind, error.hint]).toEqual(['refused', expect.stringContaining('half an hour')]);
    expect(await rows(config)).toEqual([{ id: 1, v: 'a' }]);
  });
});

const COLUMNS =
  'id INT64, big INT64, ratio FLOAT64, price NUMERIC(10, 2), digits BIGNUMERIC, ok BOOL, raw BYTES, day DATE, clock TIME, wall DATETIME, at TIMESTAMP, doc JSON, point GEOGRAPHY, span INTERVAL, valid RANGE<DATETIME>, tags ARRAY<STRING>, place STRUCT<x INT64, names ARRAY<STRING>>, places ARRAY<STRUCT<x INT64>>';
const FULL: JsonObject = {
  id: 1,
  big: 9_223_372_036_854_775_807n,
  ratio: 0.1,
  price: '12.5',
  digits: '-1234567890123456789012345678901234567.5',
  ok: false,
  raw: 'aGk=',
  day: '2024-05-06',
  clock: '07:08:09.5',
  wall: '2024-05-06T07:08:09.123456',
  at: '2024-05-06T07:08:09.123456Z',
  doc: { a: [1, "it's", null] },
  point: 'POINT(1 2)',
  span: '-P1Y2M3DT4H5M6.5S',
  valid: '[2024-01-01 00:00:00, UNBOUNDED)',
  tags: ['a', 'b"\n'],
  place: { x: 1, names: ['p'] },
  places: [{ x: 1 }, { x: 2 }],
};
const EMPTY: JsonObject = {
  ...Object.fromEntries(Object.keys(FULL).map((name) => [name, null])),
  id: 2,
  tags: [],
  places: [],
};

describe('values of each type', () => {
  it.each([
    ['streamed', {}],
    ['by statements', upsert],
    ['loaded', 'load'],
  ])('come back as they were, %s', async (_how, more) => {
    const bulk = { bulk_load: { staging_bucket: 'lake', storage_host: gcs.url } };
    const config = await table(COLUMNS, more === 'load' ? bulk : (more as JsonObject));
    await write(config, [FULL, EMPTY]);
    const span = 'P-1Y-2M-3DT-4H-5M-6.5S';
    expect(await rows(config)).toEqual([{ ...FULL, span }, EMPTY]);
  });

  it('that a column cannot hold are refused with column and record', async () => {
    const config = await table(COLUMNS);
    const bad: readonly (readonly [string, JsonObject[string]])[] = [
      ['id', 1.5],
      ['big', '9223372036854775808'],
      ['price', '123456789.1'],
      ['ok', 'perhaps'],
      ['raw', 'no base64!'],
      ['day', '2024-02-30'],
      ['clock', '25:00:00'],
      ['at', 'yesterday'],
      ['tags', ['a', null]],
      ['place', { y: 1 }],
      ['places', { x: 1 }],
      ['valid', '2024'],
    ];
    for (const [column, value] of bad)
      for (const mode of [{}, upsert]) {
        const error = await failureOf(
          write({ ...config, ...mode }, [
            { id: 1, [column]: FULL[column] ?? null },
            { id: 2, [column]: value },
          ]),
        );
        expect([column, error.kind, error.message]).toEqual([
          column,
          'data',
          expect.stringContaining(`the column \`${column}\``),
        ]);
        expect(error.record).toBe(1);
      }
    expect(await rows(config)).toEqual([]);
  });

  it('get columns by what is known of them', async () => {
    const config = await table('', upsert);
    const field = (name: string, type: RecordField['type']): RecordField => ({
      name,
      type,
      nullable: true,
    });
    const schema = {
      fields: [
        field('id', { kind: 'int64' }),
        field('price', { kind: 'decimal', precision: 10, scale: 2 }),
        field('wide', { kind: 'decimal', precision: 50, scale: 20 }),
        field('free', { kind: 'decimal' }),
        field('at', { kind: 'timestamp', unit: 'us', zone: 'UTC' }),
        field('tags', { kind: 'list', item: { kind: 'utf8' } }),
        {
          ...field('geo', { kind: 'utf8' }),
          native: { system: 'bigquery', name: 'ARRAY<STRING>' },
        },
      ],
    };
    const record = {
      id: 1,
      price: '1.05',
      wide: '1.5',
      free: '2',
      at: null,
      tags: [null],
      geo: ['a'],
    };
    await write(config, [record], { schema });
    const found = fake.engine.table('shop', config['table_id'] as string);
    expect(found?.primaryKey).toEqual(['id']);
    expect(
      found?.fields.map(({ type, mode, precision, scale }) =>
        [type, mode, precision, scale].filter((one) => one !== undefined).join(' '),
      ),
    ).toEqual([
      'INT64 NULLABLE',
      'NUMERIC NULLABLE 10 2',
      'BIGNUMERIC NULLABLE 50 20',
      'STRING NULLABLE',
      'TIMESTAMP NULLABLE',
      'JSON NULLABLE',
      'STRING REPEATED',
    ]);
    expect((await rows(config))[0]).toMatchObject({ price: '1.05', wide: '1.5', geo: ['a'] });
  });

  it('are rounded where a column is too narrow, with a count', async () => {
    const config = await table('id INT64, price NUMERIC(10, 2), at TIMESTAMP');
    const record = { id: 1, price: '1.005', at: '2024-05-06T07:08:09.1234567Z' };
    const { roundedFields } = await write(config, [record]);
    expect([...(roundedFields ?? [])]).toEqual([
      ['price', 1],
      ['at', 1],
    ]);
    expect(await rows(config)).toEqual([
      { id: 1, price: '1.01', at: '2024-05-06T07:08:09.123456Z' },
    ]);
    const strict = await failureOf(write({ ...config, on_rounding: 'error' }, [record]));
    expect(strict.kind).toBe('data');
  });
});

describe('keyed rows', () => {
  it('whose keys are one value for BigQuery are written in their order', async () => {
    const config = await table('id INT64, a STRING, b STRING', upsert);
    await write(config, [
      { id: 1, a: 'first', b: 'kept' },
      { id: '01', a: 'second' },
      { id: '001', a: 'third' },
    ]);
    expect(await rows(config)).toEqual([{ id: 1, a: 'third', b: 'kept' }]);
    await write({ ...config, write_mode: 'delete' }, [{ id: '1' }, { id: '01' }]);
    expect(await rows(config)).toEqual([]);
  });

  it('of a page with `batch_size: 0` are all written or none', async () => {
    const config = await table('id INT64, v STRING(2)', { ...upsert, batch_size: 0 });
    const found = fake.engine.table('shop', config['table_id'] as string);
    if (found !== undefined)
      found.fields = found.fields.map(({ maxLength: _limit, ...field }) => field);
    await failureOf(write(config, [{ id: 1, v: 'ok' }, { id: 2 }, { id: 3, v: 'too long' }]));
    expect(await rows(config)).toEqual([]);
    await write(config, [{ id: 1, v: 'ok' }, { id: 2 }]);
    expect(await rows(config)).toHaveLength(2);
  });
});

describe('an overwrite', () => {
  it('of a window replaces its rows alone, and refuses others', async () => {
    const config = await table('id INT64, day DATE', {
      write_mode: 'overwrite',
      scope: { window: { column: 'day', from: '2026-01-02', to: '2026-01-04' } },
    });
    const { scope: _scope, ...plain } = config;
    await write(
      { ...plain, write_mode: 'append' },
      [1, 2, 3, 4].map((id) => ({ id, day: `2026-01-0${id}` })),
    );
    await write(config, [{ id: 30, day: '2026-01-03' }]);
    expect((await rows(config)).map(({ id }) => id)).toEqual([1, 4, 30]);
    const error = await failureOf(
      write(config, [
        { id: 5, day: '2026-01-04' },
        { id: 6, day: null },
      ]),
    );
    expect(error.message).toContain('2 records are outside the window');
    expect((await rows(config)).map(({ id }) => id)).toEqual([1, 4, 30]);
  });

  it('makes the table where there is none, and drops one that a killed run left', async () => {
    const config = await table('', { write_mode: 'overwrite' });
    const killed = await opened(config);
    await killed.write(Page.ofRecords([{ id: 9 }]), { partial: false });
    await write(config, [{ id: 1 }]);
    expect(await rows(config)).toEqual([{ id: 1 }]);
    expect(
      [...fake.engine.tables.keys()].filter((name) =>
        name.includes(`${config['table_id'] as string}__svc`),
      ),
    ).toEqual([]);
    const late = await failureOf(killed.write(Page.ofRecords([{ id: 8 }]), { partial: false }));
    expect(late.message).toMatch(/another run/);
  });
});

describe('exactly-once delivery', () => {
  const SCOPE = 'p::a';
  const token = (n: number): string => String(n).padStart(20, '0');
  const fresh = async (columns: string): Promise<JsonObject> => {
    const dataset = `once${(made += 1)}`;
    await fake.engine.addDataset(dataset);
    await fake.engine.create(`\`the-project.${dataset}.t\``, columns);
    return { ...fake.config(), dataset_id: dataset, table_id: 't' };
  };
  const ids = async (config: JsonObject): Promise<unknown[]> => {
    const found = await read({
      ...fake.config(),
      query: `SELECT id FROM \`the-project.${config['dataset_id'] as string}.t\` ORDER BY id`,
    });
    return found.map(({ id }) => id);
  };

  it('commits neither a page nor its token when the page fails', async () => {
    const config = await fresh('id INT64, v STRING NOT NULL');
    const sink = await opened(config);
    expect(await sink.tokens?.last(SCOPE)).toBeUndefined();
    await sink.tokens?.write(Page.ofRecords([{ id: 1, v: 'a' }]), SCOPE, token(1));
    const error = await failureOf(
      Promise.resolve(sink.tokens?.write(Page.ofRecords([{ id: 2 }]), SCOPE, token(2))),
    );
    expect(error.message).toContain('Required field v cannot be null');
    await sink.close();
    expect(await ids(config)).toEqual([1]);
    const other = await opened(config);
    expect(await other.tokens?.last(SCOPE)).toBe(token(1));
    await other.close();
  });

  it('refuses to commit after the job of a killed run did', async () => {
    const config = await fresh('id INT64');
    const [killed, next] = [await opened(config), await opened(config)];
    await killed.tokens?.last(SCOPE);
    await next.tokens?.last(SCOPE);
    await killed.tokens?.write(Page.ofRecords([{ id: 1 }]), SCOPE, token(1));
    const error = await failureOf(
      Promise.resolve(next.tokens?.write(Page.ofRecords([{ id: 1 }]), SCOPE, token(1))),
    );
    expect([error.kind, error.hint]).toEqual([
      'refused',
      expect.stringContaining('start the run again'),
    ]);
    expect(await ids(config)).toEqual([1]);
    await Promise.all([killed.close(), next.close()]);
  });

  it('belongs to the execution that began last', async () => {
    const config = await fresh('id INT64');
    const first = await opened(config, quickContext({ runId: 'r', claim: 1 }));
    const second = await opened(config, quickContext({ runId: 'r', claim: 2 }));
    await first.tokens?.last(SCOPE);
    await second.tokens?.last(SCOPE);
    const error = await failureOf(
      Promise.resolve(first.tokens?.write(Page.ofRecords([{ id: 1 }]), SCOPE, token(1))),
    );
    expect(error.message).toContain('another server took over the run');
    await second.tokens?.write(Page.ofRecords([{ id: 2 }]), SCOPE, token(1));
    expect((await failureOf(Promise.resolve(first.tokens?.last(SCOPE)))).message).toContain(
      'another server',
    );
    expect(await ids(config)).toEqual([2]);
    await Promise.all([first.close(), second.close()]);
  });

  it('happens once when an answer is lost, and when transactions meet', async () => {
    const config = await fresh('id INT64');
    const sinks = await Promise.all([1, 2, 3].map(() => opened(config, testContext('/'))));
    for (const [at, sink] of sinks.entries()) await sink.tokens?.last(`p::${at}`);
    let left = 2;
    fake.fault = ({ body }) =>
      String(body['query']).startsWith('BEGIN') && left-- > 0 ? { losesAnswer: true } : undefined;
    await Promise.all(
      sinks.map(async (sink, at) =>
        sink.tokens?.write(Page.ofRecords([{ id: at }]), `p::${at}`, token(1)),
      ),
    );
    expect(await ids(config)).toEqual([0, 1, 2]);
    for (const sink of sinks) await sink.close();
  });

  it('takes pages that fit into one request', async () => {
    const config = await fresh('id INT64, v STRING');
    const sink = await opened(config);
    const page = Page.ofRecords([1, 2].map((id) => ({ id, v: 'x'.repeat(6_000_000) })));
    const error = await failureOf(Promise.resolve(sink.tokens?.write(page, SCOPE, token(1))));
    expect([error.kind, error.hint]).toEqual(['data', expect.stringContaining('one transaction')]);
    expect(await ids(config)).toEqual([]);
    await sink.close();
  });
});

describe('loads', () => {
  const bulk = (disposition = 'WRITE_APPEND'): JsonObject => ({
    bulk_load: { staging_bucket: 'lake', storage_host: gcs.url, write_disposition: disposition },
  });

  it('take several pages at once, and leave no object', async () => {
    const config = await table('id INT64', bulk());
    const sink = await opened(config);
    for (const id of [1, 2]) await sink.write(Page.ofRecords([{ id }]), { partial: false });
    await sink.flush();
    await sink.flush();
    await sink.close();
    const jobs = fake.asked.filter(({ method, path }) => method === 'POST' && path === 'jobs');
    expect(jobs).toHaveLength(1);
    expect(jobs[0]?.body['configuration']).toMatchObject({
      load: {
        sourceFormat: 'NEWLINE_DELIMITED_JSON',
        createDisposition: 'CREATE_NEVER',
        maxBadRecords: 0,
      },
    });
    expect(await rows(config)).toEqual([{ id: 1 }, { id: 2 }]);
    expect([...(gcs.buckets.get('lake')?.keys() ?? [])]).toEqual([]);
  });

  it('that fail leave nothing, and nothing more is taken', async () => {
    const config = await table('id INT64', bulk());
    const sink = await opened(config);
    await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
    const found = fake.engine.table('shop', config['table_id'] as string);
    if (found !== undefined) found.fields = [{ name: 'other', type: 'INT64', mode: 'NULLABLE' }];
    const error = await failureOf(sink.flush());
    expect(error.message).toContain('no such field: id');
    expect(await failureOf(sink.write(Page.ofRecords([{ id: 2 }]), { partial: false }))).toBe(
      error,
    );
    await sink.close();
    expect([...(gcs.buckets.get('lake')?.keys() ?? [])]).toEqual([]);
  });

  it('happen once when the answer to a job is lost', async () => {
    const config = await table('id INT64', bulk());
    let left = 1;
    fake.fault = ({ method, path }) =>
      method === 'POST' && path === 'jobs' && left-- > 0 ? { losesAnswer: true } : undefined;
    await write(config, [{ id: 1 }]);
    expect(await rows(config)).toEqual([{ id: 1 }]);
  });

  it('replace a table at the end of a run that succeeds, also by nothing', async () => {
    const config = await table('id INT64', bulk('WRITE_TRUNCATE'));
    await write(config, [{ id: 1 }]);
    await write(config, [{ id: 2 }]);
    expect(await rows(config)).toEqual([{ id: 2 }]);
    const sink = await opened(config);
    await sink.write(Page.ofRecords([{ id: 3 }]), { partial: false });
    await sink.finish('failed');
    await sink.close();
    expect(await rows(config)).toEqual([{ id: 2 }]);
    await write(config, []);
    expect(await rows(config)).toEqual([]);
    const empty = { ...config, ...bulk('WRITE_EMPTY') };
    await write(empty, [{ id: 4 }]);
    expect((await failureOf(write(empty, [{ id: 5 }]))).message).toContain('Already Exists');
    expect([...(gcs.buckets.get('lake')?.keys() ?? [])]).toEqual([]);
  });
});

it('relaxes a required column, and widens one', async () => {
  const config = await table('id INT64 NOT NULL, v STRING NOT NULL');
  const sink = await opened(config);
  await sink.schema?.evolve?.({
    add: [],
    widen: [{ name: 'id', type: 'number' }],
    relaxNull: ['v'],
  });
  await sink.write(Page.ofRecords([{ id: 1.5, v: null }]), { partial: false });
  await sink.close();
  expect(await rows(config)).toEqual([{ id: 1.5, v: null }]);
});

it('refuses settings that do not belong together', () => {
  const config = {
    project_id: 'p',
    auth: { type: 'application_default' },
    dataset_id: 'd',
    table_id: 't',
  };
  const paths = (more: JsonObject): string[] =>
    issuesOf(bigquerySink, { ...config, ...more }).map((issue) => issue.split(':')[0] ?? '');
  const bulk_load = { staging_bucket: 'lake' };
  expect(paths({ scope: { window: { column: 'd', from: 1, to: 2 } } })).toEqual(['scope']);
  expect(paths({ ...upsert, bulk_load })).toEqual(['bulk_load']);
  expect(paths({ ...upsert, insert_id_field: 'id' })).toEqual(['insert_id_field']);
  expect(paths({ insert_id_field: 'id', bulk_load })).toEqual(['insert_id_field']);
  expect(paths({ bulk_load })).toEqual([]);
});

it('says in a probe what is wrong', async () => {
  const probe = async (config: JsonObject) =>
    (await bigquerySink.probe?.(parsed(bigquerySink, config), quickContext()))?.map(
      ({ name, status, reason }) =>
        [name, status, reason].filter((one) => one !== undefined).join(' '),
    );
  const config = await table('id INT64', upsert);
  expect(await probe(config)).toEqual(['auth pass', 'schema pass']);
  expect(await probe({ ...config, key: ['nobody'] })).toEqual([
    'auth pass',
    expect.stringContaining('no column `nobody`'),
  ]);
  expect(await probe({ ...config, dataset_id: 'nowhere' })).toEqual([
    'auth pass',
    expect.stringContaining('Not found: Dataset'),
  ]);
  expect(await probe({ ...config, table_id: 'none', create_table: false })).toEqual([
    'auth pass',
    expect.stringContaining('there is no table'),
  ]);
  const auth = { type: 'service_account_key', config: { json: JSON.stringify(fake.key(false)) } };
  expect(await probe({ ...config, auth })).toEqual([expect.stringContaining('auth fail')]);
  fake.fault = ({ body }) =>
    String(body['query']).startsWith('MERGE')
      ? { fault: new BigqueryFault(403, 'accessDenied', 'Access Denied') }
      : undefined;
  expect(await probe(config)).toEqual(['auth pass', expect.stringContaining('may not write')]);
});
