/** The source against a server, and against one that does as it is told. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clickhouse,
  freshClickhouse,
  type FreshClickhouse,
} from '../../../test/servers/clickhouse.ts';
import { issuesOf, runSource, type Run, type RunOptions } from '../../../test/fakes/run-source.ts';
import { sourceContext } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { clickhouseSource } from './index.ts';

describe.skipIf(clickhouse.reason !== undefined)('a server', () => {
  let server: FreshClickhouse;
  beforeAll(async () => {
    server = await freshClickhouse();
  }, 60_000);
  afterAll(() => server.drop());

  const read = (query: string, more: JsonObject = {}, options: RunOptions = {}): Promise<Run> =>
    runSource(clickhouseSource, { ...server.config, query, ...more }, options);

  it('loses no digit of decimals and integers, in lists and tuples too', async () => {
    const { records, pages } =
      await read(`SELECT toDecimal64('12.5', 4) AS d, toInt64(-9223372036854775807) AS i,
      [toDecimal32('0.1', 3)] AS l, tuple(toUInt64(18446744073709551615), 'x') AS t, toFloat32(0.1) AS f`);
    expect(records).toEqual([
      {
        d: '12.5000',
        i: -9223372036854775807n,
        l: ['0.100'],
        t: [18446744073709551615n, 'x'],
        f: 0.1,
      },
    ]);
    expect(pages[0]?.schema?.fields.map(({ type, native }) => [type, native?.name])).toEqual([
      [{ kind: 'decimal', precision: 18, scale: 4 }, 'Decimal(18, 4)'],
      [{ kind: 'int64' }, 'Int64'],
      [{ kind: 'list', item: { kind: 'decimal', precision: 9, scale: 3 } }, 'Array(Decimal(9, 3))'],
      [{ kind: 'json' }, 'Tuple(UInt64, String)'],
      [{ kind: 'float32' }, 'Float32'],
    ]);
  });

  it('reads times as instants, and does not guess those of another zone', async () => {
    const { records } = await read(
      `SELECT toDateTime('2024-05-06 07:08:09') AS at, toDate('2024-05-06') AS day, CAST(NULL AS Nullable(DateTime)) AS none`,
    );
    expect(records).toEqual([{ at: '2024-05-06T07:08:09Z', day: '2024-05-06', none: null }]);
    await expect(
      read(`SELECT toDateTime('2024-05-06 07:08:09', 'Europe/Berlin') AS at`),
    ).rejects.toThrow(/clocks of 'Europe\/Berlin'.*put back/);
  });

  it('binds values of the parent as literals that nothing in them can end', async () => {
    const context = { parent: { id: 7, name: String.raw`a'b\ OR 1` } };
    const { records } = await read(
      "SELECT {id} AS id, {name} AS name, '{name}' AS quoted, '{x:y}' AS other",
      {},
      { context },
    );
    const { name } = context.parent;
    expect(records).toEqual([{ id: 7, name, quoted: name, other: '{x:y}' }]);
  });

  it('reads on after the last value, and none of the records that share it is lost or repeated', async () => {
    const table = `${server.database}.ties`;
    await server.ask(`CREATE TABLE ${table} (id Int32, at DateTime) ENGINE = Memory`);
    const insert = (rows: string): Promise<string> =>
      server.ask(`INSERT INTO ${table} VALUES ${rows}`);
    await insert(
      `(1, '2024-01-01 00:00:00'), (2, '2024-01-02 00:00:00'), (3, '2024-01-02 00:00:00')`,
    );
    const replication = {
      type: 'incremental',
      column: 'at',
      initial_value: '2024-01-01T00:00:00Z',
    };
    const ids = ({ records }: Run): number[] =>
      records.map((record) => Number((record as JsonObject)['id'])).sort((a, b) => a - b);
    const first = await read(`SELECT * FROM ${table}`, { replication, batch_size: 2 });
    expect(ids(first)).toEqual([1, 2, 3]);
    for (const bookmark of first.bookmarks) {
      const rest = await read(`SELECT * FROM ${table}`, { replication }, { bookmark });
      const left = first.pages
        .slice(first.bookmarks.indexOf(bookmark) + 1)
        .flatMap((page) => page.records());
      expect(ids(rest)).toEqual(ids({ ...rest, records: left }));
    }
    await insert(`(4, '2024-01-02 00:00:00'), (5, '2023-12-31 00:00:00')`);
    const { bookmark } = first;
    if (bookmark === undefined) throw new Error('there is no bookmark');
    expect(ids(await read(`SELECT * FROM ${table}`, { replication }, { bookmark }))).toEqual([4]);
    const own = `SELECT * FROM ${table} WHERE at >= @bookmark`;
    expect(ids(await read(own, { replication }, { bookmark }))).toEqual([4]);
  });

  it('does not take a result for whole that the server broke off after its answer of 200', async () => {
    const query = 'SELECT number, throwIf(number = 200000) AS x FROM system.numbers';
    await expect(read(query, { batch_size: 50_000 })).rejects.toThrow(
      /^the server refuses: Code: 395, DB::Exception: Value passed to 'throwIf' function is non zero$/,
    );
  });

  it('reads with a user who may change no setting', async () => {
    const { records } = await read(
      `SELECT toUInt64(18446744073709551615) AS i, toDecimal32('1.5', 2) AS d`,
      {
        user: 'reader',
      },
    );
    expect(records).toEqual([{ i: 18446744073709551615n, d: '1.50' }]);
  });

  it('tells what is wrong in probes and errors, and never the password', async () => {
    const probe = async (more: JsonObject): Promise<unknown> => {
      const checked = check(clickhouseSource.config, {
        ...server.config,
        query: 'SELECT 1',
        ...more,
      });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      return clickhouseSource.probe?.(checked.value, sourceContext());
    };
    expect(await probe({})).toEqual([
      { name: 'connect', status: 'pass' },
      { name: 'query', status: 'pass' },
    ]);
    expect(await probe({ query: 'SELECT * FROM nobody' })).toMatchObject([
      { name: 'connect', status: 'pass' },
      { name: 'query', status: 'fail', reason: expect.stringContaining('nobody') },
    ]);
    const wrong = await probe({ password: 'hunter2-secret' });
    expect(wrong).toMatchObject([{ name: 'connect', status: 'fail', hint: /password/ }]);
    expect(JSON.stringify(wrong)).not.toContain('hunter2-secret');
  });
});

describe('a server that fails', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer();
  });
  afterAll(() => server.close());

  const read = (more: JsonObject = {}, options: RunOptions = {}): Promise<Run> =>
    runSource(clickhouseSource, { url: server.url, query: 'SELECT n FROM t', ...more }, options);

  const result = (rows: readonly string[], end = `],\n"rows": ${rows.length}\n}\n`): string =>
    `{\n"meta":\n[\n{"name": "n", "type": "UInt8"}\n],\n\n"data":\n[\n${rows.join(',\n')}\n${end}`;

  /** Answers what is asked before the query, and the query by `reply`. */
  const answering = (reply: () => Reply): void =>
    server.respond(({ body }): Reply => {
      if (body.startsWith('SELECT version()'))
        return {
          body: '{"meta": [{"name":"v","type":"String"},{"name":"z","type":"String"}],"data":[["24.8","UTC"]]}',
        };
      if (body.includes('system.settings')) return { body: '{"meta":[],"data":[]}' };
      if (body.includes('LIMIT 0')) return { body: result([]) };
      return reply();
    });

  it('is asked again before its first row, as the document says', async () => {
    let asked = 0;
    answering(() =>
      (asked += 1) < 3 ? { status: 503, body: 'no backend' } : { body: result(['[1]', '[2]']) },
    );
    const { records, waits } = await read();
    expect(records).toEqual([{ n: 1 }, { n: 2 }]);
    expect(waits).toHaveLength(2);
    const once = {
      maxAttempts: 1,
      backoff: 'none',
      baseMs: 0,
      maxMs: 0,
      jitter: false,
      on: ['http_5xx'],
    } as const;
    asked = 0;
    await expect(read({}, { context: { retry: once } })).rejects.toThrow(/503: no backend/);
    expect(asked).toBe(1);
  });

  it.each([
    ['in the middle of a row', result(['[1]', '[2'], '')],
    ['behind a row', result(['[1]', '[2]'], '')],
    ['before its end', result(['[1]'], '],\n"rows": 2')],
    ['with fewer rows than it says', result(['[1]'], '],\n"rows": 2\n}')],
    ['before its rows', '{\n"meta":\n'],
  ])('is not believed when a result ends %s', async (_where, body) => {
    answering(() => ({ body }));
    await expect(read()).rejects.toThrow(/the result ends in the middle/);
  });

  it('is not read again behind rows that were given when the connection breaks', async () => {
    let asked = 0;
    answering(() => {
      asked += 1;
      return { breaks: true, body: result(['[1]', '[2]'], '') };
    });
    await expect(read({ batch_size: 1 })).rejects.toMatchObject({ kind: 'connection' });
    expect(asked).toBe(1);
  });

  it('is believed when it writes its error into the result', async () => {
    answering(() => ({
      body: result(
        ['[1]'],
        '],\n"rows": 1,\n"exception": "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)"\n}',
      ),
    }));
    await expect(read()).rejects.toMatchObject({
      kind: 'http_5xx',
      message: expect.stringContaining('Memory limit'),
    });
  });

  it('is not asked again for what cannot succeed, although it answers 500', async () => {
    let asked = 0;
    answering(() => {
      asked += 1;
      return {
        status: 500,
        body: 'Code: 53. DB::Exception: Type mismatch (version 24.8.1 (official build))',
      };
    });
    await expect(read()).rejects.toMatchObject({
      kind: 'data',
      message: 'the server refuses: Code: 53. DB::Exception: Type mismatch',
    });
    expect(asked).toBe(1);
  });

  it('says what to check where something else answers', async () => {
    server.respond(() => ({ body: '<html>hello</html>' }));
    await expect(read()).rejects.toMatchObject({ kind: 'data', hint: 'check `url`' });
  });
});

it.each([
  [{ query: 'SELECT 1' }, 'url', /not named/],
  [{ url: 'http://h:1', host: 'h', query: 'SELECT 1' }, 'host', /already/],
  [{ url: 'http://h:1', http_port: 5, query: 'SELECT 1' }, 'http_port', /already/],
  [{ url: 'http://a:b@h:1', user: 'c', query: 'SELECT 1' }, 'user', /already/],
  [{ host: 'h', query: 'SELECT 1 FORMAT JSONEachRow' }, 'query', /FORMAT/],
  [{ host: 'h', query: 'SELECT @bookmark' }, 'query', /incremental/],
  [{ host: 'h', query: 'SELECT 1', shard: { key: 'id' } }, 'shard', /./],
])('%j is refused at `%s`', (config, path, message) => {
  const issues = issuesOf(clickhouseSource, config);
  expect(issues.map((issue) => issue.path)).toContain(path);
  expect(issues.find((issue) => issue.path === path)?.message).toMatch(message);
});

it('names its data set without the login', () => {
  const uri = (config: JsonObject): string => {
    const checked = check(clickhouseSource.config, { query: 'SELECT 1', ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return clickhouseSource.datasetUri(checked.value);
  };
  expect(uri({ url: 'https://me:secret@h:8443/' })).toBe('https://h:8443?query=SELECT 1');
  expect(uri({ host: 'h', tls: true, http_port: '9000' })).toBe('https://h:9000?query=SELECT 1');
  expect(uri({ host: '::1', password: 'secret' })).toBe('http://[::1]:8123?query=SELECT 1');
});
