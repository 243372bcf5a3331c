import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeStream, put, textsIn } from '../../../test/conformance/fixtures/kinesis.ts';
import { loginFields, SECRET } from '../../../test/conformance/fixtures/aws.ts';
import { arrivalAt, FakeKinesis } from '../../../test/fakes/aws/kinesis.ts';
import { Fault, faultReply, operationOf } from '../../../test/fakes/aws/protocol.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { WriteResult } from '../../kit/sink.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { kinesisSink, kinesisSource } from './index.ts';

let server: HttpServer;
let fake: FakeKinesis;
let stream: string;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  fake = new FakeKinesis();
  server.respond((request) => fake.answer(request));
  stream = await makeStream(server.url);
  server.requests.length = 0;
});

const SHARD = (at: number): string => `shardId-${String(at).padStart(12, '0')}`;
const calls = (operation: string) =>
  server.requests.filter((request) => operationOf(request) === operation);

function parsed(definition: { readonly config: unknown }, config: JsonObject): never {
  const all = { stream_name: stream, endpoint_url: server.url, ...loginFields, ...config };
  const checked = check(definition.config as never, all);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

interface ReadOptions {
  readonly bookmark?: JsonValue | undefined;
  readonly env?: TestEnv;
  readonly afterPage?: (page: Page) => void | Promise<void>;
}

/** To the end: after a short silence, unless the config says otherwise. */
async function read(config: JsonObject = {}, options: ReadOptions = {}) {
  const { bookmark: from, env = testEnv(), afterPage } = options;
  const quick = { poll_interval_ms: 200, idle_termination_secs: 0.3 };
  const source = await kinesisSource.open(
    parsed(kinesisSource, { ...quick, ...config }),
    sourceContext({ env }),
  );
  const records: JsonObject[] = [];
  let bookmark = from;
  try {
    const request = { lane: RECORDS_LANE, ...(from === undefined ? {} : { bookmark: from }) };
    for await (const page of source.pages(request)) {
      records.push(...(page.records() as JsonObject[]));
      bookmark = page.bookmark ?? bookmark;
      await afterPage?.(page);
    }
    return { data: records.map(({ data }) => data), records, bookmark };
  } finally {
    await source.close();
  }
}

describe('the source', () => {
  it('gives up a shard whose every request fails, however long that takes, though others answer', async () => {
    await put(server.url, stream, ['1', '2']);
    fake.split(stream, SHARD(0));
    server.respond(async (request) => {
      const { ShardIterator: iterator = '' } = request.json() as { ShardIterator?: string };
      const isBroken = Buffer.from(iterator, 'base64').includes(SHARD(2));
      if (operationOf(request) !== 'GetRecords' || !isBroken) return fake.answer(request);
      await sleep(250);
      return { status: 500 };
    });
    const failed = read({ include_closed: true, idle_termination_secs: 3600 });
    await expect(failed).rejects.toThrow('cannot be read');
  });

  it('reads the children of a shard that was split when it has ended, and those of a merge', async () => {
    await put(server.url, stream, ['1', '2']);
    fake.split(stream, SHARD(0));
    await put(server.url, stream, ['3'], 'a');
    await put(server.url, stream, ['4'], 'b');
    fake.merge(stream, SHARD(1), SHARD(2));
    await put(server.url, stream, ['5']);
    const { data, bookmark } = await read({ include_closed: true, records_per_request: 1 });
    expect([data.slice(0, 2), new Set(data.slice(2, 4)), data.slice(4)]).toEqual([
      [1, 2],
      new Set([3, 4]),
      [5],
    ]);
    expect(Object.keys((bookmark as JsonObject)['shards'] as JsonObject)).toHaveLength(4);
    expect(bookmark).toMatchObject({ shards: { [SHARD(0)]: 'SHARD_END' } });
    expect((await read({}, { bookmark })).data).toEqual([]);
    await put(server.url, stream, ['6']);
    expect((await read({}, { bookmark })).data).toEqual([6]);
  });

  it('goes on in shards that came while it reads, and in those that came since its bookmark', async () => {
    await put(server.url, stream, ['1', '2']);
    let split = false;
    const first = await read(
      { idle_termination_secs: 3 },
      {
        afterPage: async () => {
          if (split) return;
          split = true;
          fake.split(stream, SHARD(0));
          await put(server.url, stream, ['3']);
        },
      },
    );
    expect(first.data).toEqual([1, 2, 3]);
    for (const id of [SHARD(1), SHARD(2)]) fake.split(stream, id);
    await put(server.url, stream, ['4']);
    for (const id of [3, 4, 5, 6].map(SHARD)) fake.split(stream, id);
    await put(server.url, stream, ['5']);
    const { data } = await read({ shard_ids: [] }, { bookmark: first.bookmark });
    expect(data).toEqual([4, 5]);
  });

  it('leaves out at first what was closed before, and never takes it up later', async () => {
    await put(server.url, stream, ['1']);
    fake.split(stream, SHARD(0));
    await put(server.url, stream, ['2']);
    const first = await read();
    expect(first.data).toEqual([2]);
    await put(server.url, stream, ['3']);
    expect((await read({}, { bookmark: first.bookmark })).data).toEqual([3]);
  });

  it('tells of a shard that was deleted before it was read to its end', async () => {
    await put(server.url, stream, ['1']);
    const { bookmark } = await read();
    fake.split(stream, SHARD(0));
    fake.expire(stream, SHARD(0));
    await put(server.url, stream, ['2']);
    const env = testEnv();
    expect((await read({}, { bookmark, env })).data).toEqual([2]);
    expect(env.lines.map(({ line }) => line).join()).toMatch(/deleted before it was read.*shardId/);
  });

  it('makes a new iterator where the one it has is too old', async () => {
    await put(server.url, stream, ['1']);
    let expired = false;
    const { data } = await read(
      { max_messages: 2 },
      {
        afterPage: async () => {
          if (expired) return;
          expired = true;
          fake.oldestIterator = 100;
          server.respond((request) => {
            if (operationOf(request) === 'GetShardIterator') fake.oldestIterator = 0;
            return fake.answer(request);
          });
          await put(server.url, stream, ['2']);
        },
      },
    );
    expect(data).toEqual([1, 2]);
    expect(calls('GetShardIterator')).toHaveLength(2);
  });

  it('begins where the config says', async () => {
    await put(server.url, stream, ['1', '2', '3']);
    const all = await read();
    const sequence = all.records[1]?.['sequence_number'] ?? null;
    const from = async (start: JsonValue) =>
      (await read({ start_position: start, shard_ids: [SHARD(0)] })).data;
    expect(await from({ type: 'at_sequence_number', sequence })).toEqual([2, 3]);
    expect(await from({ type: 'after_sequence_number', sequence })).toEqual([3]);
    const alone = await read({ start_position: { type: 'after_sequence_number', sequence } });
    expect(alone.data).toEqual([3]);
    expect(await from({ type: 'at_timestamp', timestamp_secs: arrivalAt(4) / 1000 })).toEqual([3]);
    expect(await from('trim_horizon')).toEqual([1, 2, 3]);
    expect(await from('latest')).toEqual([]);
  });

  it('does not guess to which of several shards a sequence number belongs', async () => {
    await put(server.url, stream, ['1']);
    fake.split(stream, SHARD(0));
    const start = { type: 'at_sequence_number', sequence: '1' };
    await expect(read({ start_position: start })).rejects.toMatchObject({
      message: expect.stringContaining('belongs to one shard, and the stream has 2') as string,
    });
  });

  it('with `latest` loses nothing that comes after its first run began', async () => {
    await put(server.url, stream, ['1']);
    const clock = { ...stillClock(), ...testEnv().clock, now: () => new Date(arrivalAt(3)) };
    const first = await read({ start_position: 'latest' }, { env: testEnv({ clock }) });
    expect(first.data).toEqual([]);
    expect(first.bookmark).toEqual({ shards: { [SHARD(0)]: `AT_TIMESTAMP:${arrivalAt(3)}` } });
    await put(server.url, stream, ['2']);
    expect((await read({}, { bookmark: first.bookmark })).data).toEqual([2]);
  });

  it('asks again after it was throttled, or its connection was cut, and loses nothing', async () => {
    await put(server.url, stream, ['1', '2']);
    const throttled = faultReply(
      new Fault('ProvisionedThroughputExceededException', 'Rate exceeded'),
    );
    const bad: Reply[] = [throttled, { json: { Records: [] }, breaks: true }];
    server.respond((request) =>
      operationOf(request) === 'GetRecords'
        ? (bad.shift() ?? fake.answer(request))
        : fake.answer(request),
    );
    expect((await read({ max_messages: 2 })).data).toEqual([1, 2]);
    expect(bad).toEqual([]);
  });

  it('tells of records that the service removed between its bookmark and the oldest that is left', async () => {
    await put(server.url, stream, ['1', '2', '3', '4']);
    const { bookmark, records } = await read({ max_messages: 2 });
    fake.trim(stream, SHARD(0), 3);
    const env = testEnv();
    const rest = await read({ max_messages: 1 }, { bookmark, env });
    expect(rest.data).toEqual([4]);
    const sequenceOf = (record?: JsonObject): string =>
      jsonText(record?.['sequence_number'] ?? null);
    const after = sequenceOf(records[1]);
    const oldest = sequenceOf(rest.records[0]);
    expect(env.lines.map(({ level, line }) => `${level} ${line}`)).toEqual([
      expect.stringMatching(
        `^WARN .*no longer has the record.* shard=${SHARD(0)} after=${after} oldest=${oldest} `,
      ),
    ]);
  });

  it.each([0, 1])(
    'is silent where the record of its bookmark is there, and %d answers before it are empty',
    async (empty) => {
      await put(server.url, stream, ['1', '2', '3']);
      const { bookmark } = await read({ max_messages: 1 });
      let left = empty;
      server.respond((request) => {
        if (operationOf(request) !== 'GetRecords' || (left -= 1) < 0) return fake.answer(request);
        const { ShardIterator: next } = request.json() as JsonObject;
        return { json: { Records: [], NextShardIterator: next, MillisBehindLatest: 60_000 } };
      });
      const env = testEnv();
      const config = { records_per_request: 1 };
      expect((await read(config, { bookmark, env })).data).toEqual([2, 3]);
      expect(env.lines).toEqual([]);
    },
  );

  it('goes on through empty answers of a shard that has more, however long they last', async () => {
    await put(server.url, stream, ['1']);
    let empty = 0;
    server.respond((request) => {
      if (operationOf(request) !== 'GetRecords' || (empty += 1) > 5) return fake.answer(request);
      const { ShardIterator: next } = request.json() as JsonObject;
      return { json: { Records: [], NextShardIterator: next, MillisBehindLatest: 60_000 } };
    });
    expect((await read({ idle_termination_secs: 0.3 })).data).toEqual([1]);
  });

  it('ends with what is not JSON, and says what to do', async () => {
    await put(server.url, stream, ['no json']);
    await expect(read()).rejects.toMatchObject({
      kind: 'data',
      hint: expect.stringContaining('value_format'),
    });
    expect((await read({ value_format: 'string' })).data).toEqual(['no json']);
    expect((await read({ value_format: 'bytes' })).data).toEqual(['bm8ganNvbg==']);
  });

  it('tells of expired credentials, and shows no secret', async () => {
    server.respond(() => faultReply(new Fault('ExpiredTokenException', `expired\n${SECRET}`)));
    const failure: unknown = await read().catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'auth', hint: expect.stringContaining('credentials') });
    expect(String(failure)).not.toContain(SECRET);
  });
});

async function write(
  records: readonly JsonValue[],
  config: JsonObject = {},
  partial = false,
): Promise<WriteResult> {
  const env = testEnv({ clock: stillClock() });
  const sink = await kinesisSink.open(parsed(kinesisSink, config), sinkContext({ env }));
  try {
    return await sink.write(Page.ofRecords([...records]), { partial });
  } finally {
    await sink.close();
  }
}

const puts = () =>
  calls('PutRecords').map((request) => (request.json() as { Records: JsonObject[] }).Records);

describe('the sink', () => {
  it.each<[JsonValue, string]>([
    [{ type: 'field', name: 'id' }, '7'],
    [{ type: 'jsonpath', path: 'a.b' }, 'x'],
    [{ type: 'jsonpath', config: { path: '$.a.b' } }, 'x'],
    [{ type: 'hash', path: 'a.b' }, '9dd4e461268c8034f5c8564e155c67a6'],
    [{ type: 'static', value: 'all' }, 'all'],
  ])('has the partition key of %j', async (key, expected) => {
    await write([{ id: 7, a: { b: 'x' } }], { partition_key: key });
    expect(puts()[0]?.[0]?.['PartitionKey']).toBe(expected);
  });

  it('makes a key for each record, unless told otherwise', async () => {
    await write([{ id: 1 }, { id: 2 }]);
    const keys = puts()[0]?.map(({ PartitionKey: key }) => key) ?? [];
    expect(new Set(keys).size).toBe(2);
  });

  it('rejects records without a key, with a wrong hash key, or that are too large', async () => {
    const config = {
      partition_key: { type: 'field', name: 'k' },
      explicit_hash_key: { type: 'field', name: 'h' },
      max_record_size_bytes: 100,
    };
    const records: readonly JsonObject[] = [
      { k: 'a', h: '5' },
      { h: '5' },
      { k: 'a', h: '-1' },
      { k: 'a', h: '5', v: 'x'.repeat(100) },
      { k: 'x'.repeat(257), h: 1 },
    ];
    const { written, rejected } = await write(records, config, true);
    expect([written, rejected.map(({ index }) => index)]).toEqual([1, [1, 2, 3, 4]]);
    expect(puts()[0]?.[0]?.['ExplicitHashKey']).toBe('5');
    server.requests.length = 0;
    await expect(write(records, config)).rejects.toMatchObject({ record: 1 });
    expect(puts()).toEqual([]);
  });

  it('sends requests of so many records and bytes at most', async () => {
    await write(
      Array.from({ length: 5 }, (_, id) => ({ id })),
      { batch_size: 2 },
    );
    expect(puts().map(({ length }) => length)).toEqual([2, 2, 1]);
    server.requests.length = 0;
    const long = { partition_key: { type: 'static', value: 'k' }, max_request_bytes: 100 };
    await write(
      [1, 2, 3].map((id) => ({ id, v: 'x'.repeat(30) })),
      long,
    );
    expect(puts().map(({ length }) => length)).toEqual([2, 1]);
  });

  it('puts again what a shard had no room for, and nothing else', async () => {
    let asked = 0;
    server.respond(async (request) => {
      if (operationOf(request) !== 'PutRecords' || (asked += 1) > 1) return fake.answer(request);
      const body = request.json() as { Records: JsonObject[] };
      const some = { ...body, Records: body.Records.slice(0, 1) };
      const { json } = await fake.answer({ ...request, json: () => some });
      const { Records: done } = json as { Records: JsonObject[] };
      const busy = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' };
      return { json: { FailedRecordCount: 2, Records: [...done, busy, busy] } };
    });
    await write([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(puts().map(({ length }) => length)).toEqual([3, 2]);
    expect(await textsIn(server.url, stream)).toEqual(['{"id":1}', '{"id":2}', '{"id":3}']);
  });

  it('with one request at a time keeps the order of a key, also where a shard had no room', async () => {
    const busy = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' };
    const refused = new Set<string>();
    server.respond(async (request) => {
      if (operationOf(request) !== 'PutRecords') return fake.answer(request);
      const body = request.json() as { Records: { Data: string }[] };
      // Each record is refused once, and those behind it are taken.
      const [first, ...others] = body.Records;
      if (first === undefined || refused.has(first.Data)) return fake.answer(request);
      refused.add(first.Data);
      if (others.length === 0) return { json: { FailedRecordCount: 1, Records: [busy] } };
      const { json } = await fake.answer({
        ...request,
        json: () => ({ ...body, Records: others }),
      });
      const { Records: done } = json as { Records: JsonObject[] };
      return { json: { FailedRecordCount: 1, Records: [busy, ...done] } };
    });
    const records = [1, 2, 3, 4, 5, 6].map((id) => ({ id, k: id % 2 === 0 ? 'even' : 'odd' }));
    await write(records, { concurrency: 1, partition_key: { type: 'field', name: 'k' } });
    const stored = (await textsIn(server.url, stream)).map((text) => Number(/\d/.exec(text)?.[0]));
    expect(stored.filter((id) => id % 2 === 0)).toEqual([2, 4, 6]);
    expect(stored.filter((id) => id % 2 === 1)).toEqual([1, 3, 5]);
    expect(stored).toHaveLength(6);
  });

  it('puts again what the answer does not speak of', async () => {
    let asked = 0;
    server.respond((request) => {
      if (operationOf(request) !== 'PutRecords' || (asked += 1) > 1) return fake.answer(request);
      return { json: { FailedRecordCount: 0, Records: [] } };
    });
    await write([{ id: 1 }, { id: 2 }]);
    expect(await textsIn(server.url, stream)).toEqual(['{"id":1}', '{"id":2}']);
  });

  it('gives up after its attempts, and tells why', async () => {
    const busy = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' };
    server.respond(() => ({ json: { FailedRecordCount: 1, Records: [busy] } }));
    await expect(write([{ id: 1 }], { retry_max_attempts: 3 })).rejects.toMatchObject({
      kind: 'rate_limited',
      message: expect.stringContaining('ProvisionedThroughputExceeded'),
    });
    expect(puts()).toHaveLength(3);
  });
});

describe('a config', () => {
  const issues = (definition: { readonly config: unknown }, config: JsonObject) => {
    const checked = check(definition.config as never, { stream_name: 's', ...config });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };

  it('needs an end, and one shard where a sequence number is given', () => {
    expect(issues(kinesisSource, {})).toEqual(['idle_termination_secs']);
    const start = { start_position: { type: 'at_sequence_number', sequence: 5 }, max_messages: 1 };
    expect(issues(kinesisSource, start)).toEqual([]);
    expect(issues(kinesisSource, { ...start, shard_ids: ['a', 'b'] })).toEqual(['shard_ids']);
    expect(issues(kinesisSource, { max_messages: 1, poll_interval_ms: 100 })).toEqual([
      'poll_interval_ms',
    ]);
    expect(issues(kinesisSource, { max_messages: 1, shard_ids: [] })).toEqual([]);
    expect(issues(kinesisSink, { batch_size: 501 })).toEqual(['batch_size']);
    expect(issues(kinesisSink, { partition_key: 'random', explicit_hash_key: null })).toEqual([]);
  });

  it('gives the address of the data set by region and name', () => {
    const checked = check(kinesisSink.config, { stream_name: 's', region: 'eu-north-1' });
    expect(checked.ok && kinesisSink.datasetUri(checked.value)).toBe('kinesis://eu-north-1/s');
  });
});

it('the doctor asks for the stream, on both sides', async () => {
  const probe = (config: JsonObject) =>
    kinesisSink.probe?.(parsed(kinesisSink, config), sinkContext());
  expect(await probe({})).toEqual([{ name: 'describe_stream', status: 'pass' }]);
  expect(await probe({ stream_name: 'none' })).toEqual([
    expect.objectContaining({ name: 'describe_stream', status: 'fail' }),
  ]);
});
