import { Binary, BSONRegExp, Decimal128, Long, MongoClient } from 'mongodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandError } from '../../../test/fakes/mongodb/command-error.ts';
import {
  startMongodbServer,
  type MongodbServer,
  type MongodbServerOptions,
} from '../../../test/fakes/mongodb/server.ts';
import { sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { mongodbCdcSource } from './index.ts';

let server: MongodbServer;
let client: MongoClient;

async function restart(options: MongodbServerOptions = {}): Promise<void> {
  await client?.close();
  await server?.close();
  server = await startMongodbServer(options);
  client = new MongoClient(server.url, { directConnection: true });
}
beforeEach(() => restart());
afterEach(async () => {
  await client.close();
  await server.close();
});

const orders = () => client.db('shop').collection('orders');
const ORDERS = { type: 'collection', database: 'shop', collection: 'orders' };
/** Before the first change. */
const BEGINNING = { type: 'timestamp', timestamp_secs: 1_700_000_000 };

function configOf(more: JsonObject = {}) {
  const checked = check(mongodbCdcSource.config, {
    connection_uri: server.url,
    scope: ORDERS,
    start_from: BEGINNING,
    max_await_time_ms: 20,
    idle_timeout: 0.15,
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
  readonly onPage?: (page: Page, source: Source) => Promise<void> | void;
}

interface Read {
  readonly pages: readonly Page[];
  readonly records: readonly JsonObject[];
  readonly bookmark: JsonValue | undefined;
}

async function read(reading: Reading = {}): Promise<Read> {
  const { config, bookmark, limit, env = testEnv(), onPage } = reading;
  const source = await mongodbCdcSource.open(configOf(config), sourceContext({ env }));
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

const told = ({ records }: Read) =>
  records.map(
    ({ op, document_key: key }) =>
      `${jsonText(op ?? null)} ${jsonText((key as JsonObject | null)?.['_id'] ?? null)}`,
  );

describe('records', () => {
  test('each kind of change has its images, its key and its time', async () => {
    await orders().insertOne({ _id: 1 as never, n: 1 });
    await orders().updateOne({ _id: 1 as never }, { $set: { n: 2 } });
    await orders().replaceOne({ _id: 1 as never }, { m: 3 });
    await orders().deleteOne({ _id: 1 as never });
    const { records } = await read();
    const common = {
      namespace: { db: 'shop', coll: 'orders' },
      ts_ms: 1_700_000_000_000,
      before: null,
      document_key: { _id: 1 },
      update_description: null,
      resume_token: expect.anything() as unknown,
      ddl: null,
    };
    expect(records).toEqual([
      { ...common, op: 'c', after: { _id: 1, n: 1 } },
      {
        ...common,
        op: 'u',
        after: null,
        update_description: { updated_fields: { n: 2 }, removed_fields: [], truncated_arrays: [] },
      },
      { ...common, op: 'r', after: { _id: 1, m: 3 } },
      { ...common, op: 'd', after: null },
    ]);
  });

  test('values keep all their digits and types, as the source mongodb gives them', async () => {
    await orders().insertOne({
      _id: 1 as never,
      big: Long.fromString('9007199254740993'),
      price: Decimal128.fromString('1.10'),
      bytes: new Binary(Buffer.from([1])),
      at: new Date(0),
      pattern: new BSONRegExp('a', 'i'),
    });
    const { records } = await read();
    expect(records[0]?.['after']).toEqual({
      _id: 1,
      big: 9_007_199_254_740_993n,
      price: { $numberDecimal: '1.10' },
      bytes: { $binary: { base64: 'AQ==', subType: '00' } },
      at: { $date: '1970-01-01T00:00:00Z' },
      pattern: { $regularExpression: { pattern: 'a', options: 'i' } },
    });
  });

  test.each([
    ['update_lookup', { _id: 1, n: 3 }, { _id: 1, n: 3 }],
    ['required', { _id: 1, n: 2 }, { _id: 1, n: 3 }],
    ['when_available', { _id: 1, n: 2 }, { _id: 1, n: 3 }],
  ])('with %s updates have whole documents', async (full, first, second) => {
    await client
      .db('shop')
      .createCollection('orders', { changeStreamPreAndPostImages: { enabled: true } });
    await orders().insertOne({ _id: 1 as never, n: 1 });
    await orders().updateOne({ _id: 1 as never }, { $set: { n: 2 } });
    await orders().updateOne({ _id: 1 as never }, { $set: { n: 3 } });
    const { records } = await read({
      config: { full_document: full, full_document_before_change: 'when_available' },
    });
    expect(records.map(({ after }) => after)).toEqual([{ _id: 1, n: 1 }, first, second]);
    expect(records.map(({ before }) => before)).toEqual([null, { _id: 1, n: 1 }, { _id: 1, n: 2 }]);
  });

  test.each([
    [{ full_document: 'required' }, 'post-image'],
    [{ full_document_before_change: 'required' }, 'pre-image'],
  ])(
    '%j: a document that was not kept ends the run, and says how to keep them',
    async (more, what) => {
      await orders().insertOne({ _id: 1 as never, n: 1 });
      await orders().updateOne({ _id: 1 as never }, { $set: { n: 2 } });
      await expect(read({ config: more })).rejects.toMatchObject({
        code: 'connector_missing',
        message: expect.stringContaining(what) as string,
        hint: expect.stringContaining('changeStreamPreAndPostImages') as string,
      });
    },
  );

  test('a document that is gone, or was not kept, is null', async () => {
    await orders().insertOne({ _id: 1 as never, n: 1 });
    await orders().updateOne({ _id: 1 as never }, { $set: { n: 2 } });
    await orders().deleteOne({ _id: 1 as never });
    for (const full of ['update_lookup', 'when_available'])
      expect((await read({ config: { full_document: full } })).records[1]?.['after']).toBeNull();
  });
});

describe('what is read', () => {
  async function fillAll(): Promise<void> {
    await orders().insertOne({ _id: 1 as never });
    await client
      .db('shop')
      .collection('other')
      .insertOne({ _id: 2 as never });
    await client
      .db('else')
      .collection('orders')
      .insertOne({ _id: 3 as never });
  }

  test.each([
    [ORDERS, ['c 1']],
    [{ type: 'database', database: 'shop' }, ['c 1', 'c 2']],
    [{ type: 'cluster' }, ['c 1', 'c 2', 'c 3']],
    ['cluster', ['c 1', 'c 2', 'c 3']],
  ])('scope %j', async (scope, expected) => {
    await fillAll();
    expect(told(await read({ config: { scope } }))).toEqual(expected);
  });

  test.each([{ type: 'database', database: 'shop' }, 'cluster'])(
    'how far runs have come is read only where its collection is named (scope %j)',
    async (scope) => {
      const positions = client.db('shop').collection('_svc_commit_token');
      await orders().insertOne({ _id: 1 as never });
      // As a run does for each page.
      const onPage = async (): Promise<void> => {
        await positions.insertOne({});
      };
      expect(told(await read({ config: { scope }, onPage }))).toEqual(['c 1']);
      const named = { type: 'collection', database: 'shop', collection: '_svc_commit_token' };
      expect((await read({ config: { scope: named } })).records.length).toBeGreaterThan(0);
    },
  );

  test('only changes of the wanted kinds come from the server', async () => {
    await orders().insertMany([{ _id: 1 as never }, { _id: 2 as never }]);
    await orders().deleteOne({ _id: 1 as never });
    const found = await read({ config: { operation_types: ['delete'] } });
    expect(told(found)).toEqual(['d 1']);
    expect(found.records[0]).not.toHaveProperty('ddl');
  });

  test('stages of the document are applied behind that', async () => {
    await orders().insertMany([
      { _id: 1 as never, n: 1 },
      { _id: 2 as never, n: 2 },
    ]);
    const stages = [{ $match: { 'fullDocument.n': { $gt: 1 } } }];
    expect(told(await read({ config: { aggregation_pipeline: stages } }))).toEqual(['c 2']);
  });

  test.each(['operationType', 'clusterTime'])(
    'a stage that takes `%s` away is told of',
    async (field) => {
      await orders().insertOne({ _id: 1 as never });
      await expect(
        read({ config: { aggregation_pipeline: [{ $project: { [field]: 0 } }] } }),
      ).rejects.toMatchObject({
        code: 'connector_data',
        hint: expect.stringContaining('aggregation_pipeline') as string,
      });
    },
  );

  test('a stage that takes the token away is refused by the server, with a hint', async () => {
    await orders().insertOne({ _id: 1 as never });
    await expect(
      read({ config: { aggregation_pipeline: [{ $project: { _id: 0 } }] } }),
    ).rejects.toMatchObject({ hint: expect.stringContaining('`_id`') as string });
  });
});

describe('where it begins', () => {
  test('now: behind what was changed before, which it remembers at once', async () => {
    await orders().insertOne({ _id: 1 as never });
    const first = await read({ config: { start_from: 'now' } });
    expect(first.records).toEqual([]);
    expect(first.pages).toHaveLength(1);
    await orders().insertOne({ _id: 2 as never });
    const { bookmark } = first;
    expect(told(await read({ config: { start_from: 'now' }, bookmark }))).toEqual(['c 2']);
  });

  test('earliest: with the oldest change', async () => {
    await orders().insertOne({ _id: 1 as never });
    expect(told(await read({ config: { start_from: 'earliest' } }))).toEqual(['c 1']);
  });

  test('timestamp: with the changes of that second', async () => {
    await orders().insertOne({ _id: 1 as never });
    server.changes.seconds += 10;
    await orders().insertOne({ _id: 2 as never });
    const start = { type: 'timestamp', timestamp_secs: 1_700_000_010 };
    expect(told(await read({ config: { start_from: start } }))).toEqual(['c 2']);
  });

  test('resume_token: behind the change of the token, written as a text, too', async () => {
    await orders().insertMany([{ _id: 1 as never }, { _id: 2 as never }]);
    const token = (await read()).records[0]?.['resume_token'] as JsonObject;
    for (const written of [token, token['_data'] as string]) {
      const start = { type: 'resume_token', token: written };
      expect(told(await read({ config: { start_from: start } }))).toEqual(['c 2']);
    }
  });

  test('a bookmark goes before a time, unless it was stored under another start', async () => {
    await orders().insertOne({ _id: 1 as never });
    const { bookmark } = await read();
    await orders().insertOne({ _id: 2 as never });
    expect(told(await read({ bookmark }))).toEqual(['c 2']);
    const start = { type: 'timestamp', timestamp_secs: 1_699_999_999 };
    const again = await read({ bookmark, config: { start_from: start } });
    expect(told(again)).toEqual(['c 1', 'c 2']);
    const later = await read({ bookmark: again.bookmark, config: { start_from: start } });
    expect(told(later)).toEqual([]);
  });

  test('each bookmark is behind the last record of its page, and only there', async () => {
    await orders().insertMany([1, 2, 3, 4, 5].map((_id) => ({ _id: _id as never })));
    const { pages } = await read({ config: { batch_size: 2 } });
    expect(pages.map(({ count }) => count)).toEqual([2, 2, 1]);
    const rests = await Promise.all(pages.map(({ bookmark }) => read({ bookmark })));
    expect(rests.map(told)).toEqual([['c 3', 'c 4', 'c 5'], ['c 5'], []]);
  });

  test('a bookmark of something else is refused', async () => {
    await expect(read({ bookmark: { last_lsn: '0/1' } })).rejects.toMatchObject({
      code: 'connector_data',
    });
  });

  test.each([
    ['a bookmark', false, 'headgate replicate --restart'],
    ['start_from', true, 'choose another `start_from`'],
  ])('%s that the server no longer has says what to do', async (_what, isStart, hint) => {
    await orders().insertOne({ _id: 1 as never });
    const { bookmark } = await read();
    await orders().insertOne({ _id: 2 as never });
    server.changes.forget();
    await expect(read(isStart ? {} : { bookmark })).rejects.toMatchObject({
      code: 'connector_missing',
      hint: expect.stringContaining(hint) as string,
    });
  });

  test('a server that stands alone is told of', async () => {
    await restart({ standalone: true });
    await expect(read()).rejects.toMatchObject({
      code: 'connector_refused',
      hint: expect.stringContaining('rs.initiate()') as string,
    });
  });
});

describe('the end of a collection', () => {
  test('is two records, and the next run reads the collection that comes after it', async () => {
    await orders().insertOne({ _id: 1 as never });
    await orders().drop();
    const { records, bookmark } = await read({ config: { idle_timeout: 3600 } });
    expect(records.map(({ op, ddl }) => [op, ddl])).toEqual([
      ['c', null],
      ['ddl', { operation_type: 'drop' }],
      ['ddl', { operation_type: 'invalidate' }],
    ]);
    expect(records[2]?.['namespace']).toBeNull();
    expect(bookmark).toMatchObject({ invalidate: true });
    const none = await read({ bookmark });
    expect(none.records).toEqual([]);
    await orders().insertOne({ _id: 2 as never });
    expect(told(await read({ bookmark }))).toEqual(['c 2']);
    expect(told(await read({ bookmark: none.bookmark ?? bookmark }))).toEqual(['c 2']);
  });

  test.each([
    ['where other kinds are wanted', { operation_types: ['insert'] }],
    ['where stages drop it', { aggregation_pipeline: [{ $match: { operationType: 'insert' } }] }],
  ])('is passed %s', async (_where, config) => {
    await orders().insertOne({ _id: 1 as never });
    await orders().drop();
    await orders().insertOne({ _id: 2 as never });
    const first = await read({ config });
    expect(told(first).slice(0, 1)).toEqual(['c 1']);
    const second = await read({ config, bookmark: first.bookmark });
    expect(told(second)).toEqual(['c 2']);
  });

  test('a run can begin behind it by its token', async () => {
    await orders().insertOne({ _id: 1 as never });
    await orders().drop();
    const token = (await read()).records.at(-1)?.['resume_token'] as JsonObject;
    const config = { start_from: { type: 'resume_token', token } };
    const { bookmark } = await read({ config });
    await orders().insertOne({ _id: 2 as never });
    expect(told(await read({ config, bookmark }))).toEqual(['c 2']);
  });

  test('a rename says to which name', async () => {
    await orders().insertOne({ _id: 1 as never });
    await orders().rename('sold');
    const { records } = await read();
    expect(records[1]).toMatchObject({
      op: 'ddl',
      namespace: { db: 'shop', coll: 'orders' },
      ddl: { operation_type: 'rename', to: { db: 'shop', coll: 'sold' } },
    });
  });
});

describe('pages', () => {
  test('what comes is given soon, and the run ends when nothing does', async () => {
    let pages = 0;
    const { records } = await read({
      config: { start_from: 'now', idle_timeout: 0.4 },
      async onPage({ count }) {
        pages += 1;
        if (pages <= 3) await orders().insertOne({ _id: (count + pages * 10) as never });
      },
    });
    expect(records).toHaveLength(3);
    expect(pages).toBeGreaterThanOrEqual(4);
  });

  test('each change begins the wait for the next one anew', async () => {
    let pages = 0;
    const { records } = await read({
      config: { start_from: 'now', idle_timeout: 0.6 },
      async onPage() {
        pages += 1;
        if (pages <= 10) await orders().insertOne({ _id: pages as never });
      },
    });
    expect(records).toHaveLength(10);
  });

  test('changes that are not wanted move the bookmark', async () => {
    const config = { start_from: 'now' };
    const { bookmark } = await read({ config });
    await client.db('shop').collection('other').insertOne({});
    const later = await read({ config, bookmark });
    expect(later.records).toEqual([]);
    expect(later.bookmark).toBeDefined();
    expect(later.bookmark).not.toEqual(bookmark);
  });

  test('batch_size: 0 makes one page of all', async () => {
    await orders().insertMany([1, 2, 3].map((_id) => ({ _id: _id as never })));
    const { pages } = await read({ config: { batch_size: 0 } });
    expect(pages.map(({ count }) => count)).toEqual([3]);
  });

  test('more changes than may wait end the run before they are written', async () => {
    await orders().insertMany([1, 2, 3].map((_id) => ({ _id: _id as never })));
    const limited = { batch_size: 0, max_staged_records: 2 };
    await expect(read({ config: limited })).rejects.toMatchObject({
      code: 'connector_refused',
      message: expect.stringContaining('max_staged_records') as string,
    });
    const enough = await read({ config: { ...limited, max_staged_records: 3 } });
    expect(enough.records).toHaveLength(3);
  });

  test('it is far behind at first, and not at all once the server has nothing more', async () => {
    await orders().insertMany([1, 2].map((_id) => ({ _id: _id as never })));
    const lags: number[] = [];
    await read({
      config: { batch_size: 1, start_from: 'earliest' },
      onPage: (_page, source) => void lags.push(source.lag?.()?.seconds ?? -1),
    });
    expect(lags[0]).toBeGreaterThan(1000);
  });
});

describe('failures on the way', () => {
  const breaking = (name: string, fault: 'cut' | 'cut after' | CommandError, at = 1) => {
    let count = 0;
    return (command: string) => {
      if (command !== name) return undefined;
      count += 1;
      return count === at ? fault : undefined;
    };
  };

  test.each([
    ['a connection that breaks', 'getMore', 'cut'],
    ['an answer that is lost', 'getMore', 'cut after'],
    ['a cursor that is gone', 'getMore', new CommandError(43, 'cursor not found')],
    ['a server that steps down', 'aggregate', new CommandError(189, 'stepped down')],
    ['a first answer that is lost', 'aggregate', 'cut after'],
  ] as const)('%s: nothing is lost, and nothing comes twice', async (_what, name, fault) => {
    for (const at of [1, 2, 3]) {
      await restart({ fault: breaking(name, fault, at) });
      await orders().insertMany([1, 2, 3, 4, 5].map((_id) => ({ _id: _id as never })));
      const found = await read({ config: { batch_size: 2 } });
      expect(told(found), `at ${at}`).toEqual(['c 1', 'c 2', 'c 3', 'c 4', 'c 5']);
    }
  });

  test('a stream that cannot be had again at once is asked for again', async () => {
    let faults = 0;
    const fault = (name: string) => {
      if (name !== 'getMore' && !(name === 'aggregate' && faults > 0)) return undefined;
      faults += 1;
      if (faults > 3) return undefined;
      return name === 'getMore' ? 'cut' : new CommandError(189, 'stepped down');
    };
    await restart({ fault });
    await orders().insertMany([1, 2, 3].map((_id) => ({ _id: _id as never })));
    expect(told(await read({ config: { batch_size: 2 } }))).toEqual(['c 1', 'c 2', 'c 3']);
    expect(faults).toBeGreaterThan(3);
  });

  test('a user without the right is told of, and not asked again', async () => {
    await restart({ fault: breaking('aggregate', new CommandError(13, 'not authorized')) });
    await expect(read()).rejects.toMatchObject({ code: 'connector_refused' });
  });

  test('cursors are closed', async () => {
    await orders().insertOne({ _id: 1 as never });
    await read();
    await expect.poll(() => server.openCursors).toBe(0);
  });
});

describe('for a snapshot', () => {
  const { anchors } = mongodbCdcSource;
  if (anchors === undefined) throw new Error('it has none');

  test('the position is that of the last change before it, whatever `start_from` says', async () => {
    await orders().insertOne({ _id: 1 as never });
    const bookmark = await anchors.take(configOf(), sourceContext({ env: testEnv() }));
    await orders().insertOne({ _id: 2 as never });
    expect(told(await read({ bookmark }))).toEqual(['c 2']);
    await anchors.check(configOf(), sourceContext({ env: testEnv() }), bookmark);
  });

  test('a position that is lost is noticed', async () => {
    const bookmark = await anchors.take(configOf(), sourceContext({ env: testEnv() }));
    await orders().insertOne({ _id: 1 as never });
    server.changes.forget();
    await expect(
      anchors.check(configOf(), sourceContext({ env: testEnv() }), bookmark),
    ).rejects.toMatchObject({ code: 'connector_missing' });
  });
});

describe('doctor', () => {
  const probe = (more: JsonObject = {}) =>
    mongodbCdcSource.probe?.(configOf(more), sourceContext({ env: testEnv() }));

  test('all is well', async () => {
    expect((await probe())?.map(({ name, status }) => [name, status])).toEqual([
      ['connection', 'pass'],
      ['topology', 'pass'],
    ]);
  });

  test('nobody is there', async () => {
    const found = await probe({
      connection_uri: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200',
    });
    expect(found).toMatchObject([{ name: 'connection', status: 'fail' }]);
  });

  test('the server stands alone', async () => {
    await restart({ standalone: true });
    expect(await probe()).toMatchObject([
      { name: 'connection', status: 'pass' },
      { name: 'topology', status: 'fail', hint: expect.stringContaining('--replSet') as string },
    ]);
  });
});

describe('configs', () => {
  test.each([
    [{ scope: { type: 'collection', database: 'shop' } }, 'scope.collection'],
    [{ scope: { type: 'database', database: 'a.b' } }, 'scope.database'],
    [{ operation_types: ['upsert'] }, 'operation_types[0]'],
    [{ aggregation_pipeline: [{ $group: { _id: 1 } }] }, 'aggregation_pipeline[0]'],
    [{ aggregation_pipeline: [{ $match: {}, $set: {} }] }, 'aggregation_pipeline[0]'],
    [{ start_from: { type: 'resume_token', token: {} } }, 'start_from.token'],
    [{ max_await_time_ms: 5000, idle_timeout: 5 }, 'max_await_time_ms'],
    [{ idle_timeout: 0 }, 'idle_timeout'],
    [{ connection_uri: 'http://db' }, 'connection_uri'],
  ])('%j is refused', (more, path) => {
    const checked = check(mongodbCdcSource.config, { connection_uri: 'mongodb://db', ...more });
    expect(checked.ok ? [] : checked.issues.map((issue) => issue.path)).toContain(path);
  });

  test('the server waits shorter than the run', () => {
    const checked = check(mongodbCdcSource.config, {
      connection_url: 'mongodb://db',
      idle_timeout: 0.2,
    });
    expect(checked.ok).toBe(true);
  });
});
