import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BUCKET, sharedSnowflake } from '../../../test/conformance/fixtures/shared-snowflake.ts';
import { sinkContext, sourceContext } from '../../../test/fakes/env.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { runSource, type Run } from '../../../test/fakes/run-source.ts';
import { TOKEN } from '../../../test/fakes/snowflake/server.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, WriteResult } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { accountName, baseOf } from './address.ts';
import { snowflakeSink, snowflakeSource } from './index.ts';

const snowflake = sharedSnowflake();
beforeAll(snowflake.start);
afterAll(snowflake.stop);
afterEach(() => {
  const server = snowflake.server();
  server.fail(() => undefined);
  server.executed.length = 0;
});
let made = 0;
const freshTable = (): string => `U${(made += 1)}`;

function problems(
  kind: typeof snowflakeSink | typeof snowflakeSource,
  config: JsonObject,
): string[] {
  const checked = check(kind.config as typeof snowflakeSink.config, config);
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path} ${message}`);
}

async function opened(config: JsonObject, claim?: number): Promise<Sink> {
  const checked = check(snowflakeSink.config, { ...snowflake.connection(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const context = claim === undefined ? {} : { runId: 'run', claim };
  return snowflakeSink.open(checked.value, sinkContext(context));
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonObject[])[],
  schema?: RecordSchema,
): Promise<WriteResult[]> {
  const sink = await opened(config);
  try {
    const results: WriteResult[] = [];
    for (const records of pages)
      results.push(await sink.write(Page.ofRecords([...records], { schema }), { partial: false }));
    await sink.flush();
    await sink.finish('success');
    return results;
  } finally {
    await sink.close();
  }
}

async function read(query: string, more: JsonObject = {}): Promise<unknown[]> {
  const checked = check(snowflakeSource.config, { ...snowflake.connection(), query, ...more });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await snowflakeSource.open(checked.value, sourceContext());
  const pages = await readAll(source);
  return pages.flatMap((page) => page.records());
}

/** Logins are of today. */
const quickClock = () => stillClock(new Date().toISOString());
const readFast = (query: string, more: JsonObject = {}, clock = quickClock()): Promise<Run> =>
  runSource(snowflakeSource, { ...snowflake.connection(), query, ...more }, { clock });

const make = (name: string, columns: string): Promise<unknown> =>
  snowflake.server().engine.connection.run(`CREATE TABLE "SHOP"."PUBLIC".${name} (${columns})`);

describe('a config', () => {
  const auth = { type: 'oauth', config: { token: 'secret' } };
  const sink = { account: 'a', auth, database: 'd', schema: 's', table: 't' };

  it.each([
    [{ query: 'SELECT ?' }, 'query the query has 1 `?`, and `params` has 0 values'],
    [{ query: "SELECT '?'", params: [1] }, 'query the query has 0 `?`, and `params` has 1 values'],
    [{ query: 'SELECT 1; DROP TABLE t' }, 'query the query is more than one statement'],
    [{ query: 'SELECT 1', account: 'https://x' }, 'account this is no identifier of an account'],
    [
      { query: 'SELECT 1', account: 'x.snowflakecomputing.com' },
      'account this is no identifier of an account',
    ],
    [
      { query: 'SELECT 1', auth: { ref: 'a', type: 'oauth' } },
      'auth `ref` cannot be combined with `type`',
    ],
  ])('%j is refused', (more, problem) => {
    expect(problems(snowflakeSource, { account: 'a', auth, ...more })).toContain(problem);
  });

  it.each([
    [{ stage: 's', url: '/tmp' }, 'bulk_load.url this is no place of objects'],
    [
      { stage: 's', url: 's3://b', storage_options: { google_endpoint: 'x' } },
      'bulk_load.storage_options.google_endpoint `google_endpoint` is no setting of this store',
    ],
    [
      { stage: 's', url: 's3://b', storage_options: { aws_access_key_id: 'x' } },
      'bulk_load.storage_options `aws_access_key_id` and `aws_secret_access_key` are needed together',
    ],
    [
      { stage: 's', url: 'az://c' },
      'bulk_load.storage_options the account of the container is not named',
    ],
  ])('with the load %j is refused', (bulk_load, problem) => {
    expect(problems(snowflakeSink, { ...sink, bulk_load })).toEqual([problem]);
  });

  it.each([
    ['acme-shop_1', 'https://acme-shop-1.snowflakecomputing.com', 'ACME-SHOP_1'],
    ['xy1.eu-west-1', 'https://xy1.eu-west-1.snowflakecomputing.com', 'XY1'],
    ['acme-7f.global', 'https://acme-7f.global.snowflakecomputing.com', 'ACME'],
  ])('finds the account %s at %s, which tokens call %s', (account, base, name) => {
    const endpoint = { account, auth: { ref: 'x' }, poll_timeout: 0 };
    expect([baseOf(endpoint), accountName(account)]).toEqual([base, name]);
  });

  it('names its data set as statements do, without the login', () => {
    const checked = check(snowflakeSink.config, sink);
    const source = check(snowflakeSource.config, { account: 'a', auth, query: 'SELECT 1' });
    if (!checked.ok || !source.ok) throw new Error('cannot happen');
    expect(snowflakeSink.datasetUri(checked.value)).toBe('snowflake://a/D/S?table=T');
    expect(snowflakeSource.datasetUri(source.value)).toBe('snowflake://a//?query=SELECT 1');
  });
});

describe('a login', () => {
  it('is a token of an OAuth server', async () => {
    const auth = { type: 'oauth', config: { token: TOKEN } };
    expect(await read('SELECT 1 AS a', { auth })).toEqual([{ a: 1 }]);
  });

  it.each([
    ['no key', 'the private key cannot be read'],
    ['-----BEGIN ENCRYPTED PRIVATE KEY-----\nx', 'the private key is encrypted'],
  ])('with %j as the key is refused, without showing it', async (private_key_pem, message) => {
    const auth = { type: 'key_pair', config: { user: 'loader', private_key_pem } };
    await expect(read('SELECT 1', { auth })).rejects.toMatchObject({
      kind: 'auth',
      message: expect.stringContaining(message),
    });
  });

  it('of another user is refused', async () => {
    const { config } = snowflake.connection()['auth'] as { config: JsonObject };
    const auth = { type: 'key_pair', config: { ...config, user: 'other' } };
    await expect(read('SELECT 1', { auth })).rejects.toMatchObject({ kind: 'auth' });
  });
});

describe('a source', () => {
  it('binds values in the order of their places, and never as text of the statement', async () => {
    const params = ["'; DROP TABLE t --", 5, 0.5, true, null];
    const rows = await read(
      "SELECT ?::VARCHAR AS a, ? AS b, ? AS c, ? AS d, ?::VARCHAR AS e, '?' AS f",
      { params },
    );
    expect(rows).toEqual([{ a: params[0], b: 5, c: 0.5, d: true, e: null, f: '?' }]);
  });

  it('asks again for a partition whose answer broke off', async () => {
    let broken = 0;
    snowflake.server().fail(({ query }) => {
      if (query.get('partition') !== '1' || broken > 0) return undefined;
      broken += 1;
      return 'losesAnswer';
    });
    const rows = await read('SELECT i FROM range(20) AS r(i)');
    expect(rows).toEqual(Array.from({ length: 20 }, (_, i) => ({ i })));
    expect(broken).toBe(1);
  });

  const ROWS = 'SELECT i FROM range(20) AS r(i)';
  const isPart = (query: URLSearchParams): boolean => query.get('partition') === '1';

  it('asks again for a partition that the server does not give yet', async () => {
    let asked = 0;
    snowflake.server().fail(({ query }) => {
      if (!isPart(query)) return undefined;
      asked += 1;
      return asked === 1 ? { status: 202, json: { code: '333334' } } : undefined;
    });
    expect(await read(ROWS)).toHaveLength(20);
    expect(asked).toBe(2);
  });

  it('does not take a part of a result for the whole', async () => {
    const server = snowflake.server();
    server.fail(({ query }) => (isPart(query) ? { json: {} } : undefined));
    await expect(readFast(ROWS)).rejects.toMatchObject({
      kind: 'connection',
      message: 'part 1 of the result has 7 rows, and 0 of them came',
    });
    server.fail(() => ({ json: {} }));
    await expect(readFast(ROWS)).rejects.toThrow('the answer is none of the SQL API of Snowflake');
  });

  it.each([
    ['slow', undefined],
    ['failing', { status: 503, json: {} }],
  ])('waits for a %s server no longer than `poll_timeout`', async (_how, reply) => {
    const clock = quickClock();
    let polls = 0;
    snowflake.server().fail(({ method }) => {
      if (method !== 'GET') return undefined;
      polls += 1;
      clock.advance(40_000);
      return reply;
    });
    const waiting = readFast('SELECT SYSTEM$WAIT(5)', { poll_timeout: 60 }, clock);
    await expect(waiting).rejects.toThrow(/has not ended after 60 seconds|answers 503/);
    expect(polls).toBe(2);
  });

  it('cancels at the server what is not awaited any longer', async () => {
    const { cancelled } = snowflake.server();
    const before = cancelled.length;
    await expect(read('SELECT SYSTEM$WAIT(30)', { poll_timeout: 1 })).rejects.toMatchObject({
      kind: 'timeout',
      message: 'a statement has not ended after 1 seconds',
    });
    expect(cancelled.length).toBe(before + 1);
  });

  it('asks for no more rows than are wanted', async () => {
    const config = { ...snowflake.connection(), query: 'SELECT i FROM range(1000) AS r(i)' };
    const checked = check(snowflakeSource.config, config);
    if (!checked.ok) throw new Error('cannot happen');
    const source = await snowflakeSource.open(checked.value, sourceContext());
    const pages = await readAll(source, { limit: 3 });
    expect(pages.flatMap((page) => page.records())).toEqual([{ i: 0 }, { i: 1 }, { i: 2 }]);
    const sent = snowflake.server().http.requests.findLast(({ method }) => method === 'POST');
    expect(sent?.json()).toMatchObject({ parameters: { rows_per_resultset: '3' } });
  });

  it('lists tables with their columns', async () => {
    const name = freshTable();
    await make(name, 'id DECIMAL(38,0) NOT NULL, price DECIMAL(8,2), doc JSON');
    const checked = check(snowflakeSource.config, { ...snowflake.connection(), query: 'SELECT 1' });
    if (!checked.ok) throw new Error('cannot happen');
    const found = await snowflakeSource.discover?.(checked.value, sourceContext());
    expect(found).toContainEqual({
      name: `PUBLIC.${name}`,
      kind: 'table',
      estimated_rows: 0,
      schema: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          price: { type: ['number', 'null'] },
          doc: { type: ['object', 'null'] },
        },
      },
      config_patch: { query: `SELECT * FROM "SHOP"."PUBLIC"."${name}"` },
    });
  });
});

const STRATEGIES: readonly (readonly [string, () => JsonObject])[] = [
  ['INSERT', () => ({})],
  ['COPY', () => ({ bulk_load: snowflake.bulkLoad() })],
  [
    'COPY that names fields',
    () => ({ bulk_load: { ...snowflake.bulkLoad(), match_by_column_name: 'none', purge: true } }),
  ],
];

describe.each(STRATEGIES)('a sink that writes by %s', (_, strategy) => {
  it('stores every value as it is, in a table that it makes', async () => {
    const table = freshTable().toLowerCase();
    const records = [
      {
        id: 12_345_678_901_234_567_890n,
        t: 'a\'b\\n\n\t"é',
        n: '1234567890123456.0123',
        f: 0.1,
        b: false,
        doc: { a: [1, "x'\\y"] },
        bytes: 'aGk=',
        at: '2024-05-06T07:08:09.000005Z',
        clock: '2024-05-06T07:08:09.123456789',
      },
      { id: 2, t: '', n: null, f: null, b: true, doc: [], bytes: '', at: null, clock: null },
    ];
    const types = {
      id: { kind: 'uint64' },
      t: { kind: 'utf8' },
      n: { kind: 'decimal', precision: 20, scale: 4 },
      f: { kind: 'float64' },
      b: { kind: 'bool' },
      doc: { kind: 'json' },
      bytes: { kind: 'binary' },
      at: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
      clock: { kind: 'timestamp', unit: 'ns' },
    } as const;
    const schema: RecordSchema = {
      fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
    };
    await write({ table, ...strategy() }, [records], schema);
    const upper = records.map((record) =>
      Object.fromEntries(
        Object.entries(record).map(([name, value]) => [name.toUpperCase(), value]),
      ),
    );
    expect(await read(`SELECT * FROM ${table} ORDER BY id DESC`)).toEqual(upper);
  });

  it('writes a page whole or not at all, also in several statements', async () => {
    const table = freshTable();
    await make(table, 'id INTEGER CHECK (id < 5)');
    const records = [1, 2, 3, 4, 5].map((id) => ({ id }));
    const config = { table, batch_size: 2, ...strategy() };
    await expect(write(config, [records])).rejects.toMatchObject({ kind: 'data' });
    expect(await read(`SELECT * FROM ${table}`)).toEqual([]);
    await write(config, [records.slice(0, 4)]);
    expect(await read(`SELECT * FROM ${table} ORDER BY id`)).toHaveLength(4);
  });

  it('tells what it rounded and what it left out, and counts times in UTC', async () => {
    const table = freshTable();
    await make(table, 'id BIGINT, n DECIMAL(9,2), "at" TIMESTAMP');
    const [result] = await write({ table, ...strategy() }, [
      [{ ID: 1, n: '1.005', at: '2024-05-06T01:00:00.5+02:00', other: 1 }],
    ]);
    expect(await read(`SELECT * FROM ${table}`)).toEqual([
      { id: 1, n: '1.01', at: '2024-05-05T23:00:00.5' },
    ]);
    expect(result?.roundedFields).toEqual(new Map([['n', 1]]));
    expect(result?.unknownFields).toEqual(new Map([['other', 1]]));
  });
});

it('removes objects that were loaded where it is told to', async () => {
  const objects = snowflake.server().store.buckets.get(BUCKET);
  objects?.clear();
  const load = snowflake.bulkLoad();
  await write({ table: freshTable(), bulk_load: { ...load, purge: true } }, [[{ id: 1 }]]);
  expect(objects?.size).toBe(0);
  await write({ table: freshTable(), bulk_load: load }, [[{ id: 1 }]]);
  expect([...(objects?.keys() ?? [])]).toEqual([
    expect.stringMatching(/^in\/svc-load-.*\.jsonl\.gz$/),
  ]);
});

it('a request whose answer is lost is sent again under its id, and its rows are there once', async () => {
  const table = freshTable();
  let lost = 0;
  const ids: (string | null)[] = [];
  const server = snowflake.server();
  server.fail(({ method, body, query }) => {
    if (method !== 'POST' || !body.includes('INSERT INTO')) return undefined;
    ids.push(`${query.get('requestId')} ${query.get('retry')}`);
    lost += 1;
    return lost === 1 ? 'losesAnswer' : undefined;
  });
  await write({ table }, [[{ id: 1 }, { id: 2 }]]);
  const [first = '', second = ''] = ids;
  expect(second).toBe(first?.replace('null', 'true'));
  expect(await read(`SELECT * FROM ${table} ORDER BY id`)).toEqual([{ ID: 1 }, { ID: 2 }]);
});

it('statements that take long are asked for until they have ended', async () => {
  const table = freshTable();
  const server = snowflake.server();
  const { answerMs } = server;
  server.answerMs = 0;
  try {
    await write({ table }, [[{ id: 1 }]]);
  } finally {
    server.answerMs = answerMs;
  }
  expect(await read(`SELECT * FROM ${table}`)).toEqual([{ ID: 1 }]);
});

describe('a commit token', () => {
  const page = (id: number): Page => Page.ofRecords([{ id }]);

  it('is committed with its page, or neither is', async () => {
    const table = freshTable();
    await make(table, 'id INTEGER CHECK (id < 5)');
    const sink = await opened({ table });
    expect(await sink.tokens?.last(table)).toBeUndefined();
    await sink.tokens?.hold(page(1));
    await sink.tokens?.write(page(2), table, '00001');
    await expect(sink.tokens?.write(page(7), table, '00002')).rejects.toMatchObject({
      kind: 'data',
    });
    await sink.close();
    const next = await opened({ table });
    expect(await next.tokens?.last(table)).toBe('00001');
    await next.close();
    expect(await read(`SELECT * FROM ${table} ORDER BY id`)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('is not committed twice behind the same one', async () => {
    const table = freshTable();
    const [one, other] = [await opened({ table }), await opened({ table })];
    await one.tokens?.last(table);
    await one.tokens?.write(page(1), table, '00001');
    expect(await other.tokens?.last(table)).toBe('00001');
    await other.tokens?.write(page(2), table, '00002');
    await expect(one.tokens?.write(page(2), table, '00002')).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('something else was committed'),
    });
    expect(await one.tokens?.last(table)).toBe('00002');
    await one.tokens?.write(page(3), table, '00003');
    for (const sink of [one, other]) await sink.close();
    expect(await read(`SELECT * FROM ${table} ORDER BY id`)).toEqual([
      { ID: 1 },
      { ID: 2 },
      { ID: 3 },
    ]);
  });

  it('is not committed by an earlier execution of a run', async () => {
    const table = freshTable();
    const later = await opened({ table }, 2);
    await later.tokens?.last(table);
    const earlier = await opened({ table }, 1);
    await expect(earlier.tokens?.last(table)).rejects.toMatchObject({ kind: 'refused' });
    const third = await opened({ table }, 3);
    await third.tokens?.last(table);
    await expect(later.tokens?.write(page(1), table, '00001')).rejects.toMatchObject({
      kind: 'refused',
    });
    await third.close();
    for (const sink of [later, earlier]) await sink.close();
  });
});

describe('a probe', () => {
  async function findings(config: JsonObject): Promise<unknown> {
    const checked = check(snowflakeSink.config, { ...snowflake.connection(), ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return snowflakeSink.probe?.(checked.value, sinkContext());
  }

  it('says that everything is there, the stage too', async () => {
    expect(await findings({ table: 't', bulk_load: snowflake.bulkLoad() })).toEqual([
      { name: 'auth', status: 'pass' },
      { name: 'schema', status: 'pass' },
      { name: 'staging-network', status: 'pass' },
      { name: 'staging-auth', status: 'pass' },
    ]);
  });

  it.each([
    [{ auth: { type: 'oauth', config: { token: 'wrong' } } }, 'auth'],
    [{ create_table: false }, 'schema'],
  ])('with %j fails at %s', async (more, name) => {
    expect(await findings({ table: 'nobody', ...more })).toContainEqual(
      expect.objectContaining({ name, status: 'fail', hint: expect.any(String) }),
    );
  });
});
