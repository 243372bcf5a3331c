import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { startFakeMssql } from '../../../test/servers/mssql.ts';
import { CapturedDatabase } from '../../../test/servers/mssql/captured-database.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { mssqlCdcSource } from './index.ts';

const server = await startFakeMssql();
let database: CapturedDatabase;
beforeEach(async () => {
  database = await CapturedDatabase.make(server);
  await database.table('orders', 'id INT NOT NULL PRIMARY KEY, n INT');
});
afterEach(async () => {
  server.watch(undefined);
  await database[Symbol.asyncDispose]();
});
afterAll(() => server.close());

const ONCE = {
  maxAttempts: 1,
  backoff: 'none' as const,
  baseMs: 0,
  maxMs: 0,
  jitter: false,
  on: ['connection' as const, 'timeout' as const],
};

function configOf(more: JsonObject = {}) {
  const checked = check(mssqlCdcSource.config, {
    connection_url: database.url,
    capture_instances: ['dbo_orders'],
    start_position: 'earliest',
    poll_interval: 0.02,
    idle_timeout: 0.05,
    ...more,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

interface Reading {
  readonly config?: JsonObject;
  readonly bookmark?: JsonValue | undefined;
  readonly limit?: number;
  readonly env?: TestEnv;
  readonly retries?: number;
  readonly pageBytes?: number;
  readonly onPage?: (page: Page, source: Source) => Promise<void> | void;
}

interface Read {
  readonly pages: readonly Page[];
  readonly records: readonly JsonObject[];
  readonly bookmark: JsonValue | undefined;
}

async function read(reading: Reading = {}): Promise<Read> {
  const { config, bookmark, limit, env = testEnv(), retries = 0, pageBytes, onPage } = reading;
  const retry = { ...ONCE, maxAttempts: retries + 1 };
  const source = await mssqlCdcSource.open(
    configOf(config),
    sourceContext({ env, retry, ...(pageBytes === undefined ? {} : { pageBytes }) }),
  );
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({
      lane: RECORDS_LANE,
      ...(bookmark === undefined ? {} : { bookmark }),
      ...(limit === undefined ? {} : { limit }),
    })) {
      pages.push(page);
      await onPage?.(page, source);
    }
  } finally {
    await source.close();
  }
  return {
    pages,
    records: pages.flatMap((page) => page.records() as JsonObject[]),
    bookmark: pages.findLast((page) => page.bookmark !== undefined)?.bookmark,
  };
}

const insert = (id: number, n = id, table = 'orders') =>
  `INSERT INTO dbo.${table} VALUES (${id}, ${n})`;
const told = ({ records }: Pick<Read, 'records'>) =>
  records.map(({ op, table, before, after }) => {
    const row = (after ?? before) as JsonObject;
    return `${jsonText(op ?? null)} ${jsonText(table ?? null)} ${Number(row['id'])}`;
  });
const sizes = ({ pages }: Read) =>
  pages.map((page) => `${page.count}${page.bookmark === undefined ? '' : ' marked'}`);

describe('records', () => {
  test('each kind of change has its images and its place', async () => {
    await database.run(
      insert(1),
      'UPDATE dbo.orders SET n = 2 WHERE id = 1',
      'DELETE FROM dbo.orders',
    );
    const { records } = await read();
    const common = {
      schema: 'dbo',
      table: 'orders',
      lsn: expect.stringMatching(/^0x[0-9A-F]{20}$/) as unknown,
      seqval: expect.stringMatching(/^0x[0-9A-F]{20}$/) as unknown,
    };
    expect(records).toEqual([
      { ...common, op: 'i', before: null, after: { id: 1, n: 1 } },
      { ...common, op: 'u', before: null, after: { id: 1, n: 2 } },
      { ...common, op: 'd', before: { id: 1, n: 2 }, after: null },
    ]);
    expect(records[2]?.['lsn']).toBe(await database.lastLsn());
    expect(new Set(records.map(({ lsn }) => lsn)).size).toBe(3);
  });

  test('the change of a key is its row taken away, and added again', async () => {
    await database.run(insert(1), 'UPDATE dbo.orders SET id = 2 WHERE id = 1');
    const read1 = await read();
    expect(told(read1)).toEqual(['i orders 1', 'd orders 1', 'i orders 2']);
    const [, gone, added] = read1.records;
    expect(gone?.['seqval']).toBe(added?.['seqval']);
  });

  test('values have the types of the table, and pages say them', async () => {
    await database.table(
      'types',
      'id INT NOT NULL PRIMARY KEY, big BIGINT, price DECIMAL(8, 2), at DATETIME2(7), day DATE, yes BIT, bytes VARBINARY(20), uuid UNIQUEIDENTIFIER, text NVARCHAR(20)',
    );
    await database.run(
      `INSERT INTO dbo.types SELECT 1, 9007199254740993, 12.5, CAST(N'2024-05-06T07:08:09.1234567' AS datetime2(7)),
        CAST(N'2024-05-06' AS date), CAST(N'1' AS bit), CAST('\\x0001ff' AS varbinary(20)), CAST(N'6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier), N'né'`,
    );
    const { pages, records } = await read({ config: { capture_instances: ['dbo_types'] } });
    expect(records[0]?.['after']).toEqual({
      id: 1,
      big: 9_007_199_254_740_993n,
      price: '12.50',
      at: '2024-05-06T07:08:09.1234567',
      day: '2024-05-06',
      yes: true,
      bytes: 'AAH/',
      uuid: '6f9619ff-8b86-d011-b42d-00c04fc964ff',
      text: 'né',
    });
    const after = pages
      .find(({ count }) => count > 0)
      ?.schema?.fields.find(({ name }) => name === 'after');
    const inside = (after as unknown as { readonly inside: readonly JsonObject[] }).inside;
    expect(inside.slice(0, 4)).toMatchObject([
      { name: 'id', type: { kind: 'int32' }, nullable: true },
      { name: 'big', type: { kind: 'int64' } },
      { name: 'price', type: { kind: 'decimal', precision: 8, scale: 2 } },
      { name: 'at', type: { kind: 'timestamp', unit: 'ns' } },
    ]);
  });

  test('a large value that an update did not change is left out, and named', async () => {
    const many = Array.from({ length: 9 }, (_, at) => `c${at} INT`).join(', ');
    await database.table(
      'wide',
      `id INT NOT NULL PRIMARY KEY, ${many}, doc NVARCHAR(MAX), note NVARCHAR(MAX)`,
    );
    await database.run(
      `INSERT INTO dbo.wide (id, doc) VALUES (1, N'long')`,
      'UPDATE dbo.wide SET c0 = 5 WHERE id = 1',
      `UPDATE dbo.wide SET doc = NULL, note = N'x' WHERE id = 1`,
    );
    const { records } = await read({ config: { capture_instances: ['dbo_wide'] } });
    const images = records.map(({ after }) => after as JsonObject);
    expect(images[0]).toMatchObject({ doc: 'long', note: null });
    expect(images[1]).toMatchObject({ c0: 5, __unchanged_lob__: ['doc', 'note'] });
    expect(images[1]).not.toHaveProperty('doc');
    expect(images[2]).toMatchObject({ doc: null, note: 'x' });
    expect(images[2]).not.toHaveProperty('__unchanged_lob__');
  });
});

describe('the order', () => {
  beforeEach(() => database.table('lines', 'id INT NOT NULL PRIMARY KEY, n INT'));
  const both = { capture_instances: ['dbo_lines', 'dbo_orders'] };

  test('changes of several tables are merged as they were committed', async () => {
    await database.run(insert(1), insert(2, 2, 'lines'), insert(3), insert(4, 4, 'lines'));
    expect(told(await read({ config: both }))).toEqual([
      'i orders 1',
      'i lines 2',
      'i orders 3',
      'i lines 4',
    ]);
  });

  test('in a transaction they are in the order in which they were made', async () => {
    await database.transaction(insert(1), insert(2, 2, 'lines'), insert(3), insert(4, 4, 'lines'));
    const { pages, records } = await read({ config: both });
    expect(told({ records })).toEqual(['i orders 1', 'i lines 2', 'i orders 3', 'i lines 4']);
    expect(new Set(records.map(({ lsn }) => lsn)).size).toBe(1);
    expect(pages).toHaveLength(1);
  });

  test.each([1, 2, 3])('it is the same with %i connections', async (most) => {
    const statements = Array.from({ length: 60 }, (_, at) =>
      insert(at, at, at % 3 === 0 ? 'lines' : 'orders'),
    );
    for (let at = 0; at < 60; at += 6) await database.transaction(...statements.slice(at, at + 6));
    const config = { ...both, max_connections: most };
    const whole = await read({ config });
    expect(whole.records.map(({ after }) => (after as JsonObject)['id'])).toEqual(
      Array.from({ length: 60 }, (_, at) => at),
    );
  });

  test.each([1, 5])('large changes are read in parts, with %i connections', async (most) => {
    const many = (table: string, from: number) =>
      `INSERT INTO dbo.${table} SELECT g, g FROM generate_series(${from}, ${from + 1499}) AS g`;
    await database.transaction(many('orders', 0), many('lines', 5000));
    // Two changes in one place each.
    await database.run('UPDATE dbo.orders SET id = id + 20000');
    let parts = 0;
    server.watch((statement) => {
      if (statement.includes('get_all_changes_dbo_orders')) parts += 1;
      return undefined;
    });
    const { records } = await read({
      config: { ...both, max_connections: most },
      pageBytes: 65_536,
    });
    const whole = Array.from({ length: 1500 }, (_, at) => at);
    expect(told({ records })).toEqual([
      ...whole.map((id) => `i orders ${id}`),
      ...whole.map((id) => `i lines ${id + 5000}`),
      ...whole.flatMap((id) => [`d orders ${id}`, `i orders ${id + 20_000}`]),
    ]);
    if (most === 1) expect(parts).toBeGreaterThan(3);
    else expect(parts).toBe(1);
  });

  test('more transactions than are put in order at once', async () => {
    await database.run(insert(1));
    await database.behind.query(
      `INSERT INTO cdc.commits SELECT (1000000000 + g)::text::xid8, sys.lsn(nextval('sys.log_position')), sys.getdate(), sys.getdate() FROM generate_series(1, 25000) AS g`,
    );
    await database.run(insert(2));
    let ranges = 0;
    server.watch((statement) => {
      if (statement.includes('get_all_changes')) ranges += 1;
      return undefined;
    });
    const got = await read();
    expect(told(got)).toEqual(['i orders 1', 'i orders 2']);
    expect(ranges).toBe(3);
  });

  test('commits count, and not when a transaction began', async () => {
    await using other = await CapturedDatabase.join(database);
    await database.link.begin();
    await database.run(insert(1));
    await other.run(insert(2));
    await database.link.commit();
    expect(told(await read())).toEqual(['i orders 2', 'i orders 1']);
  });
});

describe('pages and bookmarks', () => {
  test('a page ends with a transaction, and its bookmark names every instance', async () => {
    await database.table('lines', 'id INT NOT NULL PRIMARY KEY, n INT');
    await database.transaction(insert(1), insert(2), insert(3));
    const first = await database.lastLsn();
    await database.transaction(insert(4), insert(5, 5, 'lines'));
    await database.run(insert(6));
    const capture_instances = ['dbo_orders', 'dbo_lines'];
    const got = await read({ config: { batch_size: 4, capture_instances } });
    expect(sizes(got)).toEqual(['3 marked', '3 marked']);
    expect(got.pages[0]?.bookmark).toEqual({ dbo_orders: first, dbo_lines: first });
    const last = await database.lastLsn();
    expect(got.bookmark).toEqual({ dbo_orders: last, dbo_lines: last });
  });

  test('a large transaction comes in parts, of which the last has the bookmark', async () => {
    await database.transaction(...[1, 2, 3, 4, 5].map((id) => insert(id)));
    const got = await read({ config: { batch_size: 2 } });
    expect(sizes(got)).toEqual(['2', '2', '1 marked']);
  });

  test('reading goes on behind every bookmark with exactly the rest', async () => {
    for (let at = 0; at < 12; at += 3)
      await database.transaction(insert(at), insert(at + 1), insert(at + 2));
    const { pages, records } = await read({ config: { batch_size: 3 } });
    expect(pages).toHaveLength(4);
    let given = 0;
    for (const { bookmark, count } of pages) {
      given += count;
      const rest = await read({ bookmark });
      expect(rest.records).toEqual(records.slice(given));
    }
  });

  test('without a batch size there is one page, at the end', async () => {
    await database.run(insert(1), insert(2));
    let reads = 0;
    const config = { batch_size: 0, idle_timeout: 0.3 };
    server.watch((statement) => {
      if (/fn_cdc_get_max_lsn/.test(statement)) reads += 1;
      return undefined;
    });
    const got = await read({ config });
    expect(sizes(got)).toEqual(['2 marked']);
    expect(reads).toBeGreaterThan(2);
  });

  test('a transaction that is too long is refused, and none of it is given', async () => {
    await database.run(insert(1));
    await database.transaction(insert(2), insert(3), insert(4));
    const pages: Page[] = [];
    const config = { max_staged_records: 2, batch_size: 1 };
    const reading = read({ config, onPage: (page) => void pages.push(page) });
    await expect(reading).rejects.toThrow('more than 2 changes');
    expect(pages.flatMap((page) => page.records())).toHaveLength(1);
  });

  test('a limit ends the read, and no bookmark goes beyond it', async () => {
    await database.run(insert(1));
    await database.transaction(insert(2), insert(3), insert(4));
    const got = await read({ limit: 2, config: { batch_size: 1 } });
    expect(sizes(got)).toEqual(['1 marked', '1']);
    expect(told(await read({ bookmark: got.bookmark }))).toEqual(
      [2, 3, 4].map((id) => `i orders ${id}`),
    );
  });

  test('the bookmark moves on where nothing is captured', async () => {
    await database.run(insert(1));
    const before = await read();
    await database.nothingHappened();
    const after = await read({ bookmark: before.bookmark });
    expect(sizes(after)).toEqual(['0 marked']);
    expect(after.bookmark).toEqual({ dbo_orders: await database.lastLsn() });
  });
});

describe('where it begins', () => {
  const current = { start_position: { type: 'current' } };

  test('with what is captured from now on, which is remembered at once', async () => {
    await database.run(insert(1));
    const start = await read({ config: current });
    expect(sizes(start)).toEqual(['0 marked']);
    await database.run(insert(2));
    expect(told(await read({ config: current, bookmark: start.bookmark }))).toEqual(['i orders 2']);
  });

  test('the start is a bookmark before anything is waited for', async () => {
    let pages = 0;
    const onPage = async (): Promise<void> => {
      pages += 1;
      if (pages === 1) await database.run(insert(1));
    };
    expect(sizes(await read({ config: current, onPage }))).toEqual(['0 marked', '1 marked']);
  });

  test('before the first transaction of an instance', async () => {
    const start = await read({ config: current });
    await database.run(insert(1));
    expect(told(await read({ config: current, bookmark: start.bookmark }))).toEqual(['i orders 1']);
  });

  test('an instance that the bookmark does not name begins as the config says', async () => {
    await database.run(insert(1));
    const { bookmark } = await read();
    await database.table('lines', 'id INT NOT NULL PRIMARY KEY, n INT');
    await database.run(insert(2, 2, 'lines'), insert(3));
    const env = testEnv();
    const config = { capture_instances: ['dbo_orders', 'dbo_lines'] };
    expect(told(await read({ bookmark, config, env }))).toEqual(['i lines 2', 'i orders 3']);
    const late = await read({ bookmark, config: { ...config, ...current } });
    expect(told(late)).toEqual(['i orders 3']);
    expect(env.lines.map(({ line }) => line).join('\n')).toContain(
      'the bookmark does not name a capture instance',
    );
  });

  test('what is captured late is read then', async () => {
    await database.run(insert(1));
    await database.hold();
    await database.run(insert(2));
    const { bookmark, records } = await read();
    expect(told({ records })).toEqual(['i orders 1']);
    await database.release();
    expect(told(await read({ bookmark }))).toEqual(['i orders 2']);
  });

  test.each<JsonValue>([{}, { dbo_orders: 7 }, { dbo_orders: '0x12' }, 'x'])(
    'the bookmark %j is none of this source',
    async (bookmark) => {
      await expect(read({ bookmark })).rejects.toThrow('none of the source mssql-cdc');
    },
  );

  test('a bookmark is known in every spelling', async () => {
    await database.run(insert(1));
    const lsn = (await database.lastLsn()).slice(2).toLowerCase();
    await database.run(insert(2));
    expect(told(await read({ bookmark: { DBO_ORDERS: lsn } }))).toEqual(['i orders 2']);
  });
});

describe('what was cleaned up', () => {
  const moveStart = (lsn: string) =>
    database.behind.query(`UPDATE cdc.change_tables SET start_lsn = '\\${lsn.slice(1)}'`);

  test('a bookmark before it is refused', async () => {
    await database.run(insert(1));
    const { bookmark } = await read();
    await database.run(insert(2), insert(3));
    await database.cleanUp('dbo_orders', await database.lastLsn());
    await expect(read({ bookmark })).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('no longer keeps all changes of `dbo_orders`') as unknown,
      hint: expect.stringContaining('--restart') as unknown,
    });
    await expect(
      mssqlCdcSource.anchors?.check(configOf(), sourceContext(), bookmark ?? null),
    ).rejects.toThrow('no longer keeps');
    expect(told(await read())).toEqual(['i orders 3']);
  });

  test('a bookmark right before it is good', async () => {
    await database.run(insert(1), insert(2));
    const { bookmark } = await read();
    await database.nothingHappened();
    const { bookmark: moved } = await read({ bookmark });
    await database.cleanUp('dbo_orders', await database.lastLsn());
    await database.run(insert(3));
    expect(told(await read({ bookmark: moved }))).toEqual(['i orders 3']);
  });

  test('an instance that was made anew is refused', async () => {
    await database.run(insert(1));
    const { bookmark } = await read();
    await database.run(
      "EXEC sys.sp_cdc_disable_table @source_schema = N'dbo', @source_name = N'orders', @capture_instance = N'dbo_orders'",
    );
    await database.run(insert(2));
    await database.capture('orders');
    await expect(read({ bookmark })).rejects.toThrow('made anew');
  });

  test('while the run waits for changes', async () => {
    await database.run(insert(1));
    const cleaned = async (): Promise<void> => {
      await database.hold();
      await database.run(insert(2), insert(3));
      await database.release();
      await database.cleanUp('dbo_orders', await database.lastLsn());
    };
    await expect(read({ onPage: cleaned, config: { idle_timeout: 5 } })).rejects.toThrow(
      'no longer keeps',
    );
  });

  test('between the question for the range and the changes', async () => {
    await database.run(insert(1));
    const { bookmark } = await read();
    await database.run(insert(2), insert(3));
    const last = await database.lastLsn();
    server.watch(async (statement) => {
      if (statement.includes('fn_cdc_get_all_changes')) await moveStart(last);
      return undefined;
    });
    await expect(read({ bookmark })).rejects.toThrow('no longer keeps');
  });

  test('before the changes that were read are given', async () => {
    await database.run(insert(1));
    const { bookmark } = await read();
    await database.run(insert(2), insert(3));
    const last = await database.lastLsn();
    let asked = 0;
    server.watch(async (statement) => {
      // At the start, for the range, and before the page.
      if (statement.includes('fn_cdc_get_max_lsn') && (asked += 1) === 3) await moveStart(last);
      return undefined;
    });
    const pages: Page[] = [];
    await expect(read({ bookmark, onPage: (page) => void pages.push(page) })).rejects.toThrow(
      'no longer keeps',
    );
    expect(pages).toEqual([]);
  });

  test('a bookmark of another database is refused', async () => {
    await database.run(insert(1));
    const bookmark = { dbo_orders: '0x0000FFFF000000010001' };
    await expect(read({ bookmark })).rejects.toThrow('ahead of everything');
  });
});

describe('failures', () => {
  test('a connection that breaks in the middle loses and repeats nothing', async () => {
    await database.transaction(...Array.from({ length: 30 }, (_, at) => insert(at)));
    await database.run(insert(30));
    let pages = 0;
    const got = await read({
      config: { batch_size: 5 },
      retries: 2,
      onPage: () => {
        pages += 1;
        if (pages === 2 || pages === 4) server.breakConnections(database.url);
      },
    });
    expect(got.records.map(({ after }) => (after as JsonObject)['id'])).toEqual(
      Array.from({ length: 31 }, (_, at) => at),
    );
  });

  test.each([
    ['the instances', 'change_tables', 229, 'GRANT SELECT ON SCHEMA::cdc'],
    ['the changes', 'fn_cdc_get_all_changes', 229, 'GRANT'],
  ])('a user who may not read %s is told so', async (_, place, number, hint) => {
    await database.run(insert(1));
    server.watch((statement) => (statement.includes(place) ? number : undefined));
    await expect(read()).rejects.toMatchObject({
      kind: 'refused',
      hint: expect.stringContaining(hint) as unknown,
    });
  });

  test('an instance that is not there is told of with those that are', async () => {
    await expect(read({ config: { capture_instances: ['dbo_nobody'] } })).rejects.toMatchObject({
      kind: 'missing',
      message: 'there is no capture instance `dbo_nobody`',
      hint: expect.stringContaining('`dbo_orders`') as unknown,
    });
  });

  test('a database whose changes are not captured is told of', async () => {
    await database.run('EXEC sys.sp_cdc_disable_db');
    await expect(read()).rejects.toThrow('not enabled');
  });

  test('a stop ends a read that waits, and one whose statement runs', async () => {
    const stopper = new AbortController();
    const reading = async (): Promise<void> => {
      const source = await mssqlCdcSource.open(
        configOf({ idle_timeout: 3600, poll_interval: 3600 }),
        sourceContext({ signal: stopper.signal }),
      );
      try {
        for await (const _ of source.pages({ lane: RECORDS_LANE }));
      } finally {
        await source.close();
      }
    };
    const ended = expect(reading()).rejects.toThrow('stopped');
    setTimeout(() => stopper.abort(new Error('stopped')), 50);
    await ended;
  });
});

describe('what it says', () => {
  test('how far it is behind', async () => {
    const seen: (number | undefined)[] = [];
    await database.run(insert(1), insert(2));
    await database.behind.query("UPDATE cdc.commits SET tran_end_time = '2024-01-01T00:00:00.000'");
    const source = await mssqlCdcSource.open(configOf({ batch_size: 1 }), sourceContext());
    seen.push(source.lag?.()?.seconds);
    for await (const _ of source.pages({ lane: RECORDS_LANE })) seen.push(source.lag?.()?.seconds);
    seen.push(source.lag?.()?.seconds);
    await source.close();
    expect(seen[0]).toBeUndefined();
    expect(seen[1]).toBeGreaterThan(31_536_000);
    expect(seen.at(-1)).toBe(0);
  });

  test('its checks', async () => {
    const probe = (more: JsonObject = {}) =>
      mssqlCdcSource.probe?.(configOf(more), sourceContext({ retry: ONCE }));
    await database.run(insert(1));
    expect(await probe()).toEqual([
      { name: 'connection', status: 'pass' },
      { name: 'cdc-enabled', status: 'pass' },
      { name: 'capture-instances', status: 'pass' },
    ]);
    expect(await probe({ capture_instances: ['dbo_orders', 'no'] })).toMatchObject([
      { status: 'pass' },
      { status: 'pass' },
      { name: 'capture-instances', status: 'fail', reason: 'there is no capture instance `no`' },
    ]);
    server.watch((statement) => (statement.includes('get_all_changes') ? 229 : undefined));
    expect((await probe())?.at(-1)).toMatchObject({ name: 'capture-instances', status: 'fail' });
    server.watch(undefined);
    await database.run('EXEC sys.sp_cdc_disable_db');
    expect(await probe()).toMatchObject([
      { status: 'pass' },
      { name: 'cdc-enabled', status: 'fail', hint: expect.stringContaining('sp_cdc_enable_db') },
    ]);
    expect(await probe({ connection_url: 'mssql://x:secret@127.0.0.1:1/x' })).toMatchObject([
      { name: 'connection', status: 'fail' },
    ]);
  });

  test('its capture instances, each of which can be read', async () => {
    await database.run(insert(1));
    const found = await mssqlCdcSource.discover?.(configOf(), sourceContext());
    expect(found).toMatchObject([
      {
        name: 'dbo_orders',
        kind: 'capture_instance',
        config_patch: { capture_instances: ['dbo_orders'] },
        schema: {
          properties: {
            after: { properties: { id: { type: ['integer', 'null'] } } },
          },
        },
      },
    ]);
    expect(told(await read({ config: found?.[0]?.config_patch ?? {} }))).toEqual(['i orders 1']);
  });

  test('the position for a snapshot, behind which all later changes are', async () => {
    await database.run(insert(1));
    const bookmark = await mssqlCdcSource.anchors?.take(configOf(), sourceContext());
    expect(bookmark).toEqual({ dbo_orders: await database.lastLsn() });
    await database.run(insert(2));
    expect(told(await read({ bookmark }))).toEqual(['i orders 2']);
  });

  test('its address', () => {
    expect(mssqlCdcSource.datasetUri(configOf({ capture_instances: ['a', 'b'] }))).toMatch(
      /^mssql:\/\/127\.0\.0\.1:\d+\/captured_\d+\?capture_instances=a,b$/,
    );
  });
});
