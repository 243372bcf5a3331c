import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loginFields } from '../../../../test/conformance/fixtures/aws.ts';
import { changedAt, FakeTables, sequenceAt } from '../../../../test/fakes/aws/dynamodb-streams.ts';
import { Fault, faultReply, operationOf } from '../../../../test/fakes/aws/protocol.ts';
import { sourceContext, testEnv, type TestEnv } from '../../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../../../test/fakes/http-server.ts';
import { RECORDS_LANE, type Page } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { systemClock } from '../../../lib/time/clock.ts';
import { itemOf } from '../attributes.ts';
import { dynamodbSource } from '../index.ts';

const SHARD = (at: number): string => `shardId-${String(at).padStart(20, '0')}`;

let server: HttpServer;
let fake: FakeTables;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  fake = new FakeTables();
  fake.make('orders');
  server.respond((request) => fake.answer(request));
  server.requests.length = 0;
});

const put = (...items: readonly JsonObject[]): void => {
  for (const item of items) fake.put('orders', itemOf(item));
};
const calls = (operation: string): number =>
  server.requests.filter((request) => operationOf(request) === operation).length;

/** Whose day is that of the changes. */
const clockAt = (ms: number) => ({ ...systemClock, now: () => new Date(ms) });

interface ReadOptions {
  readonly bookmark?: JsonValue | undefined;
  readonly env?: TestEnv;
  readonly limit?: number;
  readonly afterPage?: (page: Page) => void;
}

async function read(config: JsonObject = {}, options: ReadOptions = {}) {
  const { bookmark: from, env = testEnv(), limit, afterPage } = options;
  const checked = check(dynamodbSource.config, {
    table_name: 'orders',
    endpoint_url: server.url,
    ...loginFields,
    mode: 'streams',
    poll_interval_ms: 200,
    idle_termination_secs: 0.3,
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await dynamodbSource.open(checked.value, sourceContext({ env }));
  const records: JsonObject[] = [];
  let bookmark = from;
  try {
    const request = {
      lane: RECORDS_LANE,
      ...(from === undefined ? {} : { bookmark: from }),
      ...(limit === undefined ? {} : { limit }),
    };
    for await (const page of source.pages(request)) {
      records.push(...(page.records() as JsonObject[]));
      bookmark = page.bookmark ?? bookmark;
      afterPage?.(page);
    }
    return { records, bookmark, ids: records.map(idOf) };
  } finally {
    await source.close();
  }
}

const idOf = ({ op, document_key: key }: JsonObject): string =>
  `${jsonText(op ?? '')}${jsonText((key as JsonObject)['id'] ?? '')}`;

describe('changes', () => {
  it('say what was done, with both images and the key', async () => {
    put({ id: 1, v: 'a' }, { id: 1, v: 'b' });
    fake.remove('orders', itemOf({ id: 1 }));
    const common = { table: 'orders', document_key: { id: 1 }, shard_id: SHARD(0) };
    const at = (n: number) => ({ sequence_number: sequenceAt(n), ts_ms: changedAt(n) });
    expect((await read()).records).toEqual([
      { op: 'c', ...common, before: null, after: { id: 1, v: 'a' }, ...at(1) },
      { op: 'u', ...common, before: { id: 1, v: 'a' }, after: { id: 1, v: 'b' }, ...at(2) },
      { op: 'd', ...common, before: { id: 1, v: 'b' }, after: null, ...at(3) },
    ]);
  });

  it('of a shard come before those of its children, also of one that comes while they are read', async () => {
    put({ id: 1 });
    fake.roll('orders');
    put({ id: 2 });
    let rolled = false;
    const { ids, bookmark } = await read(
      { idle_termination_secs: 1, records_per_request: 1 },
      {
        afterPage: ({ count }) => {
          if (rolled || count === 0) return;
          rolled = true;
          fake.roll('orders');
          put({ id: 3 });
        },
      },
    );
    expect(ids).toEqual(['c1', 'c2', 'c3']);
    expect(bookmark).toEqual({
      shards: { [SHARD(0)]: 'SHARD_END', [SHARD(1)]: 'SHARD_END', [SHARD(2)]: sequenceAt(5) },
    });
    put({ id: 4 });
    expect((await read({}, { bookmark })).ids).toEqual(['c4']);
  });

  it('end with as many as a run takes', async () => {
    put({ id: 1 }, { id: 2 }, { id: 3 });
    const first = await read({ max_messages: 2, idle_termination_secs: 60 });
    expect(first.ids).toEqual(['c1', 'c2']);
    expect((await read({}, { bookmark: first.bookmark })).ids).toEqual(['c3']);
  });

  it('go on when an iterator has expired, and when requests are refused for a while', async () => {
    put({ id: 1 }, { id: 2 });
    let refused = 0;
    server.respond((request) => {
      if (operationOf(request) !== 'GetRecords') return fake.answer(request);
      refused += 1;
      if (refused === 1)
        return faultReply(new Fault('ProvisionedThroughputExceededException', 'too many'));
      if (refused === 3) fake.oldestIterator = 3;
      return fake.answer(request);
    });
    const quick = { initial_backoff_ms: 1, max_backoff_ms: 1 };
    const { ids } = await read({ records_per_request: 1, retry: quick });
    expect(ids).toEqual(['c1', 'c2']);
    expect(calls('GetShardIterator')).toBe(2);
  });

  it('are those from now on with `latest`, in the next run too when none came in the first', async () => {
    put({ id: 1 });
    const env = testEnv({ clock: clockAt(changedAt(1000)) });
    const { ids, bookmark } = await read({ start_position: 'latest' }, { env });
    expect(ids).toEqual([]);
    (fake.tables.get('orders') as { given: number }).given = 1000;
    put({ id: 2 });
    expect((await read({}, { bookmark })).ids).toEqual(['c2']);
  });

  it('need a stream', async () => {
    (fake.tables.get('orders') as { hasStream: boolean }).hasStream = false;
    await expect(read()).rejects.toThrow('the table `orders` has no stream of changes');
  });
});

describe('a gap', () => {
  const gaps: Readonly<Record<string, () => void>> = {
    'of changes of a shard': () => {
      put({ id: 2 }, { id: 3, v: 'new' });
      fake.trim('orders', 0, 2);
    },
    'of a shard': () => {
      put({ id: 2 });
      fake.roll('orders');
      put({ id: 3, v: 'new' });
      fake.expire('orders');
    },
  };
  it.each(Object.keys(gaps))('%s fails, and says what to do', async (which) => {
    put({ id: 1 });
    const { bookmark } = await read();
    gaps[which]?.();
    await expect(read({}, { bookmark })).rejects.toMatchObject({
      message: expect.stringMatching(/removed before they were read/) as unknown,
      hint: expect.stringMatching(/on_gap: resnapshot/) as unknown,
    });
  });

  it.each(Object.keys(gaps))('%s is filled by the whole table', async (which) => {
    put({ id: 1 });
    const { bookmark } = await read();
    gaps[which]?.();
    // A change while the table is read is not lost.
    fake.onScan = () => {
      fake.onScan = () => {};
      put({ id: 4 });
    };
    const env = testEnv({ clock: clockAt(changedAt(1)) });
    const again = await read({ on_gap: 'resnapshot' }, { bookmark, env });
    expect(again.ids.slice(0, 4)).toEqual(['r1', 'r2', 'r3', 'r4']);
    expect(again.ids.slice(4)).toContain('c4');
    expect(again.records[2]).toEqual({
      op: 'r',
      table: 'orders',
      document_key: { id: 3 },
      before: null,
      after: { id: 3, v: 'new' },
      sequence_number: null,
      shard_id: null,
      ts_ms: null,
    });
    expect(env.lines.map(({ line }) => line).join()).toContain('the whole table is read again');
    put({ id: 5 });
    expect((await read({}, { bookmark: again.bookmark })).ids).toEqual(['c5']);
  });

  it('is still one when the table was read in part', async () => {
    put({ id: 1 });
    const { bookmark } = await read();
    gaps['of a shard']?.();
    const part = await read({ on_gap: 'resnapshot' }, { bookmark, limit: 2 });
    expect(part.ids).toEqual(['r1', 'r2']);
    expect(part.bookmark).toEqual(bookmark);
  });
});

it('fields of another mode are refused, and a run that would not end', () => {
  const issues = (config: JsonObject): string[] => {
    const checked = check(dynamodbSource.config, { table_name: 'orders', ...config });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };
  expect(issues({ mode: 'streams' })).toEqual(['idle_termination_secs']);
  expect(issues({ mode: 'streams', max_messages: 1, projection: 'id' })).toEqual(['projection']);
  expect(issues({ max_messages: 1, stream_arn: 'arn:x' })).toEqual(['stream_arn', 'max_messages']);
  expect(issues({ mode: 'streams', max_messages: 1, stream_arn: 'arn:x', on_gap: 'fail' })).toEqual(
    [],
  );
});
