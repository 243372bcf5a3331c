/** The sink against a server, and over a network that breaks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { load } from '../../../test/fakes/documents.ts';
import { countedMetrics, run } from '../../../test/fakes/engine.ts';
import { sinkContext, testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { tcpProxy, type TcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { makeFolder } from '../../../test/e2e/folder.ts';
import {
  clickhouse,
  freshClickhouse,
  type FreshClickhouse,
} from '../../../test/servers/clickhouse.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, WriteResult } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { ClickhouseSinkConfig } from './config.ts';
import { clickhouseSink } from './index.ts';

function parsed(config: JsonObject): ClickhouseSinkConfig {
  const checked = check(clickhouseSink.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

const opened = (config: JsonObject, more: Partial<SinkContext> = {}): Promise<Sink> =>
  clickhouseSink.open(
    parsed(config),
    sinkContext({ env: testEnv({ clock: stillClock('2026-02-01T00:00:00Z') }), ...more }),
  );

async function write(
  config: JsonObject,
  records: readonly JsonObject[],
  schema?: RecordSchema,
): Promise<WriteResult> {
  const sink = await opened(config);
  try {
    const result = await sink.write(Page.ofRecords([...records], { schema }), { partial: false });
    await sink.flush();
    await sink.finish('success');
    return result;
  } finally {
    await sink.close();
  }
}

describe.skipIf(clickhouse.reason !== undefined)('a server', () => {
  let server: FreshClickhouse;
  let made = 0;
  beforeAll(async () => {
    server = await freshClickhouse();
  }, 60_000);
  afterAll(() => server.drop());

  async function table(columns: string): Promise<JsonObject> {
    const name = `t${(made += 1)}`;
    if (columns !== '')
      await server.ask(
        `CREATE TABLE ${server.database}.${name} (${columns}) ENGINE = MergeTree() ORDER BY tuple()`,
      );
    return { ...server.config, table: name };
  }
  const rowsOf = async (config: JsonObject, what = '*'): Promise<string[]> => {
    const { database, table: name } = parsed(config);
    const text = await server.ask(`SELECT ${what} FROM ${database}.${name} FORMAT TSV`);
    return text.split('\n').filter((line) => line !== '');
  };

  it.each([
    ['UInt8', 300],
    ['UInt8', -1],
    ['Int64', 9_223_372_036_854_775_808n],
    ['Int32', 1.5],
    ['Int32', 'x'],
    ['Int32', null],
    ['Decimal(4, 2)', '100'],
    ['Date', '2150-01-01'],
    ['DateTime', '2106-02-07T06:28:16Z'],
    ['DateTime', '1969-12-31T23:59:59Z'],
    ['DateTime', '2020-02-31T10:00:00Z'],
    ['Date', '2021-02-29'],
    ['Date', '2020-13-01'],
    ['Array(UInt8)', [1, 256]],
    ['Array(UInt8)', [null]],
    ['Array(UInt8)', 'x'],
    ['Tuple(UInt8, String)', [1]],
    ['Float64', 'x'],
  ])('a column of %s is not given %s, which the server would store as another', async (type, v) => {
    const config = await table(`id Int32, v ${type}`);
    const records = [{ id: 1 }, { id: 2, v }];
    await expect(write(config, records as never)).rejects.toMatchObject({
      kind: 'data',
      message: expect.stringMatching(/^the column `v` is .*, which cannot hold /),
    });
    expect(await rowsOf(config)).toEqual([]);
  });

  it('values arrive with all digits, times as the moments they are', async () => {
    const config =
      await table(`i Int64, u UInt64, d Decimal(18, 4), f Float64, at DateTime('Europe/Berlin'), day Date,
      l Array(Nullable(String)), t Tuple(Int8, String), s FixedString(3), o Nullable(UUID), e Enum8('a' = 1), doc String`);
    await write(config, [
      {
        i: -9_223_372_036_854_775_808n,
        u: 18_446_744_073_709_551_615n,
        d: '12345678901234.5678',
        f: 'Infinity',
        at: '2024-05-06T07:08:09+02:00',
        day: '2024-05-06',
        l: ['a"b\n', null],
        t: [1, 'x'],
        s: 'abc',
        o: '61f0c404-5cb3-11e7-907b-a6006ad3dba0',
        e: 'a',
        doc: { deep: [1] },
      },
    ]);
    expect(await rowsOf(config)).toEqual([
      [
        '-9223372036854775808',
        '18446744073709551615',
        '12345678901234.5678',
        'inf',
        '2024-05-06 07:08:09',
        '2024-05-06',
        String.raw`['a"b\\n',NULL]`.replace(String.raw`\\n`, String.raw`\n`),
        "(1,'x')",
        'abc',
        '61f0c404-5cb3-11e7-907b-a6006ad3dba0',
        'a',
        '{"deep":[1]}',
      ].join('\t'),
    ]);
  });

  it('what is rounded is counted, and what a record lacks is the default', async () => {
    const config = await table(
      `d Decimal(9, 2), n Int32 DEFAULT 7, at DateTime, m Int32 MATERIALIZED n + 1`,
    );
    const result = await write(config, [
      { d: '1.005', at: '2024-05-06T07:08:09.5Z' },
      { d: -1e-3, n: 3, at: 1_714_979_289.25, other: 1 },
    ]);
    expect(result.roundedFields).toEqual(
      new Map([
        ['d', 2],
        ['at', 2],
      ]),
    );
    expect(result.unknownFields).toEqual(new Map([['other', 1]]));
    expect((await rowsOf(config, 'd, n, m, toString(at)')).sort()).toEqual([
      '0.00\t3\t4\t2024-05-06 07:08:09',
      '1.01\t7\t8\t2024-05-06 07:08:09',
    ]);
  });

  it('makes a table from the schema, all of whose columns may be null', async () => {
    const config = await table('');
    const schema: RecordSchema = {
      fields: [
        { name: 'id', type: { kind: 'uint32' }, nullable: false },
        { name: 'd', type: { kind: 'decimal', precision: 20, scale: 3 }, nullable: true },
        { name: 'at', type: { kind: 'timestamp', unit: 's', zone: 'UTC' }, nullable: true },
        { name: 'exact', type: { kind: 'timestamp', unit: 'us', zone: 'UTC' }, nullable: true },
        { name: 'doc', type: { kind: 'json' }, nullable: true },
        {
          name: 'own',
          type: { kind: 'list', item: { kind: 'int8' } },
          nullable: false,
          native: { system: 'clickhouse', name: 'Array(Int8)' },
        },
      ],
    };
    const record = {
      id: 1,
      d: null,
      at: '2024-05-06T07:08:09Z',
      exact: '2024-05-06T07:08:09.5Z',
      doc: [1],
      own: [1],
    };
    await write(config, [record], schema);
    const { database, table: name } = parsed(config);
    const types = await server.ask(`DESCRIBE TABLE ${database}.${name} FORMAT TSVRaw`);
    expect(types.split('\n').map((line) => line.split('\t').slice(0, 2).join(' '))).toEqual([
      'id Nullable(UInt32)',
      'd Nullable(Decimal(20, 3))',
      "at Nullable(DateTime('UTC'))",
      // This server knows no fractions of a second.
      'exact Nullable(String)',
      'doc Nullable(String)',
      'own Array(Int8)',
      '',
    ]);
    expect(await rowsOf(config)).toEqual([
      String.raw`1	\N	2024-05-06 07:08:09	2024-05-06T07:08:09.5Z	[1]	[1]`,
    ]);
  });

  it('sends `batch_size` records in an INSERT, and with `commit_rows` those of several pages', async () => {
    const insertsOf = async (more: JsonObject): Promise<number[]> => {
      const config = { ...(await table('id Int32')), ...more };
      const sink = await opened(config);
      for (let page = 0; page < 4; page += 1)
        await sink.write(Page.ofRecords([{ id: 1 }, { id: 2 }, { id: 3 }]), { partial: false });
      await sink.flush();
      await sink.close();
      const { database, table: name } = parsed(config);
      const stored = await server.ask(
        `SELECT rows FROM system.parts WHERE database = '${database}' AND table = '${name}' AND level = 0 ORDER BY name FORMAT TSV`,
      );
      return stored.split('\n').filter(Boolean).map(Number);
    };
    expect(await insertsOf({ batch_size: 2 })).toEqual([2, 1, 2, 1, 2, 1, 2, 1]);
    expect(await insertsOf({ batch_size: 0 })).toEqual([3, 3, 3, 3]);
    expect(await insertsOf({ commit_rows: 6 })).toEqual([6, 6]);
    expect(await insertsOf({ commit_rows: 100 })).toEqual([12]);
    expect(await insertsOf({ commit_bytes: 1 })).toEqual([3, 3, 3, 3]);
  });

  it('names the record that the server refuses', async () => {
    const config = await table(`v UUID`);
    const good = { v: '61f0c404-5cb3-11e7-907b-a6006ad3dba0' };
    for (const batch_size of [0, 1])
      await expect(
        write({ ...config, batch_size }, [good, { v: 'x' }, good]),
      ).rejects.toMatchObject({ record: 1, message: expect.stringContaining('Cannot parse') });
  });

  it('says what an old server does not have', async () => {
    const config = { ...(await table('id Int32')), async_insert: true };
    await expect(write(config, [{ id: 1 }])).rejects.toThrow(/does not take `async_insert`/);
  });

  it('probes without writing', async () => {
    const probe = (config: JsonObject): unknown =>
      clickhouseSink.probe?.(parsed(config), sinkContext());
    const config = await table('id Int32');
    const pass = { name: 'connect', status: 'pass' };
    expect(await probe(config)).toEqual([pass, { name: 'schema', status: 'pass' }]);
    expect(await rowsOf(config)).toEqual([]);
    expect(await probe({ ...config, table: 'missing' })).toEqual([
      pass,
      { name: 'schema', status: 'pass' },
    ]);
    expect(await probe({ ...config, table: 'missing', create_table: false })).toMatchObject([
      pass,
      { name: 'schema', status: 'fail' },
    ]);
    expect(await probe({ ...config, user: 'reader' })).toMatchObject([
      pass,
      { name: 'schema', status: 'fail', reason: expect.stringMatching(/readonly/) },
    ]);
  });

  describe('over a network that breaks', () => {
    let proxy: TcpProxy;
    beforeAll(async () => {
      const { hostname: host, port } = new URL(server.url);
      proxy = await tcpProxy({ host, port: Number(port) });
    });
    afterAll(() => proxy.close());
    const over = async (): Promise<JsonObject> => ({
      ...(await table('id Int32')),
      url: `http://127.0.0.1:${proxy.port}`,
    });

    it('is not sent an INSERT again whose answer was lost: it is there once, and the run fails', async () => {
      const config = await over();
      proxy.cutAfter('FORMAT JSONEachRow');
      await expect(write(config, [{ id: 1 }])).rejects.toMatchObject({ kind: 'connection' });
      expect(await rowsOf(config)).toEqual(['1']);
    });

    it('is asked again for what adds no rows', async () => {
      const config = await over();
      proxy.cutAfter('DESCRIBE TABLE');
      await write(config, [{ id: 1 }]);
      expect(await rowsOf(config)).toEqual(['1']);
    });
  });
});

describe('requests', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer();
  });
  afterAll(() => server.close());

  const table =
    '{"meta":[{"name":"name","type":"String"},{"name":"type","type":"String"},{"name":"default_type","type":"String"}],"data":[["id","Int32",""]]}';
  const KNOWN = ['insert_deduplication_token', 'insert_deduplicate', 'async_insert'];

  /** Answers what comes before INSERTs, and those by `reply`. */
  const answering = (reply: () => Reply, known = KNOWN): void => {
    server.requests.length = 0;
    server.respond(({ body }): Reply => {
      if (body.startsWith('DESCRIBE')) return { body: table };
      if (body.startsWith('SELECT version()'))
        return { body: '{"meta":[],"data":[["24.8.1","UTC"]]}' };
      if (body.includes('system.settings')) {
        const rows = known.map((name) => `["${name}","0","0"]`).join(',');
        const meta = ['name', 'value', 'readonly'].map(
          (name) => `{"name":"${name}","type":"String"}`,
        );
        return { body: `{"meta":[${meta.join(',')}],"data":[${rows}]}` };
      }
      return reply();
    });
  };
  const inserts = () => server.requests.filter(({ body }) => body.startsWith('INSERT'));
  const config = (more: JsonObject = {}): JsonObject => ({ url: server.url, table: 't', ...more });

  it.each([
    [{ status: 503, body: 'no backend' }, 4],
    [{ status: 429, body: 'slow down' }, 4],
    [{ status: 500, body: 'Code: 252. DB::Exception: Too many parts' }, 4],
    [
      {
        status: 500,
        body: 'Code: 252. DB::Exception: Too many parts: while pushing to view default.daily',
      },
      1,
    ],
    [{ status: 500, body: 'Code: 439. DB::Exception: Cannot schedule a task' }, 1],
    [{ status: 502, body: 'bad gateway' }, 1],
    [{ status: 500, body: 'Code: 241. DB::Exception: Memory limit' }, 1],
    [{ breaks: true, body: 'x' }, 1],
  ] as const)('%j to an INSERT is met with %d attempts', async (reply, attempts) => {
    answering(() => reply);
    await expect(write(config(), [{ id: 1 }])).rejects.toMatchObject({ code: /^connector_/ });
    expect(inserts()).toHaveLength(attempts);
    expect(
      new Set(inserts().map(({ query }) => query.get('insert_deduplication_token'))).size,
    ).toBe(1);
  });

  it('give each INSERT a token of its own, where the server has no tokens no deduplication', async () => {
    answering(() => ({}));
    await write(config({ batch_size: 1 }), [{ id: 1 }, { id: 1 }]);
    const tokens = inserts().map(({ query }) => query.get('insert_deduplication_token'));
    expect(new Set(tokens).size).toBe(2);
    answering(() => ({}), ['insert_deduplicate']);
    await write(config(), [{ id: 1 }]);
    expect(inserts()[0]?.query.get('insert_deduplicate')).toBe('0');
  });

  it('give the dead letters of an invocation other tokens than its records', async () => {
    answering(() => ({}));
    for (const role of ['main', 'dlq'] as const) {
      const sink = await opened(config(), { invocationId: 'one', role });
      await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
      await sink.flush();
      await sink.close();
    }
    const tokens = inserts().map(({ query }) => query.get('insert_deduplication_token'));
    expect(new Set(tokens).size).toBe(2);
  });

  it('say whether the server shall collect, and ask it to store what nobody waits for', async () => {
    const settings = async (more: JsonObject): Promise<unknown> => {
      answering(() => ({}));
      await write(config(more), [{ id: 1 }]);
      const [{ query } = { query: new URLSearchParams() }] = inserts();
      return [query.get('async_insert'), query.get('wait_for_async_insert')];
    };
    const flushes = (): string[] =>
      server.requests.map(({ body }) => body).filter((body) => body.startsWith('SYSTEM'));
    expect(await settings({})).toEqual(['0', null]);
    expect(await settings({ async_insert: true })).toEqual(['1', '1']);
    expect(flushes()).toEqual([]);
    expect(await settings({ async_insert: true, wait_for_async_insert: false })).toEqual([
      '1',
      '0',
    ]);
    expect(flushes()).toEqual(['SYSTEM FLUSH ASYNC INSERT QUEUE']);
  });

  it('fail a flush that stores nothing', async () => {
    answering(() => ({}));
    const sink = await opened(config({ async_insert: true, wait_for_async_insert: false }));
    await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
    answering(() => ({ status: 403, body: 'Code: 497. DB::Exception: Not enough privileges' }));
    await expect(sink.flush()).rejects.toMatchObject({ kind: 'auth', hint: /grant SYSTEM FLUSH/ });
    await sink.close();
  });

  it('with what was collected are not sent again, so a flush that failed is not repeated', async () => {
    answering(() => ({ status: 502, body: 'bad gateway' }));
    const metrics = countedMetrics();
    const folder = makeFolder('clickhouse');
    folder.records('in.jsonl', [{ id: 1 }]);
    const pipeline = {
      source: { type: 'jsonl', config: { path: 'in.jsonl' } },
      sink: { type: 'clickhouse', config: config({ commit_rows: 10 }) },
    };
    const resilience = { retry: { max_attempts: 3, base_ms: 1 } };
    const text = JSON.stringify({ version: 1, name: 'collected', pipeline, resilience });
    const plan = planDocument(load(text, { format: 'json' }), parts, { cpus: 1 });
    const outcome = await run(plan, { env: testEnv({ cwd: folder.path, metrics }) });
    folder.remove();
    expect(outcome.invocations[0]?.error?.message).toMatch(/bad gateway/);
    expect(inserts()).toHaveLength(1);
    expect(metrics.of('svc_resilience_retries_total')).toEqual({});
    expect(Object.keys(metrics.of('svc_resilience_giveup_total'))).toHaveLength(1);
  });

  it('carry the login in headers', async () => {
    answering(() => ({}));
    await write(config({ user: 'me', password: 'hunter2-secret', database: 'd' }), [{ id: 1 }]);
    const [insert] = inserts();
    expect(insert?.headers).toMatchObject({
      'x-clickhouse-user': 'me',
      'x-clickhouse-key': 'hunter2-secret',
    });
    expect(insert?.query.get('database')).toBe('d');
    expect(insert?.body).toBe('INSERT INTO `t` (`id`) FORMAT JSONEachRow\n{"id":1}');
  });
});

it('names its data set by the address and the table', () => {
  const uri = (config: JsonObject): string => clickhouseSink.datasetUri(parsed(config));
  expect(uri({ url: 'https://me:secret@h:8443/', table: 'd.t' })).toBe('https://h:8443/d.t');
  expect(uri({ host: 'h', table: 't', password: 'secret' })).toBe('http://h:8123/t');
  const place = (table: string): unknown => clickhouseSink.place?.(parsed({ host: 'h', table }));
  expect(place('t')).toBe(place('default.t'));
});

it.each([
  [{ write_mode: 'upsert' }, 'write_mode'],
  [{ wait_for_async_insert: false }, 'wait_for_async_insert'],
  [{ staging: { location: 'az://x/y' } }, 'staging.location'],
  [{ staging: { location: 's3://x', access_key: 'a' } }, 'staging.secret_key'],
  [{ staging: { location: 's3://x', copy_options: { 'a b': 1 } } }, 'staging.copy_options'],
  [{ staging: { location: 's3://x' }, async_insert: true }, 'async_insert'],
])('%j is refused at `%s`', (more, path) => {
  const checked = check(clickhouseSink.config, { host: 'h', table: 't', ...more });
  expect(checked.ok ? [] : checked.issues.map((issue) => issue.path)).toContain(path);
});
