import { setTimeout as sleep } from 'node:timers/promises';
import { Admin, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  brokers,
  makeTopic,
  missing,
  send,
  start,
  stop,
  unique,
} from '../../../test/conformance/fixtures/kafka.ts';
import { FaultyWire } from '../../../test/conformance/wire/faulty-wire.ts';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { sinkContext, sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, TokenWriter } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { kafkaSink, kafkaSource } from './index.ts';

const LONG = 30_000;
const message = (value: JsonValue, key: string | null = null) => ({
  key,
  value,
  timestamp: 1_700_000_000_000,
  headers: {},
});

interface ReadResult {
  readonly records: readonly JsonObject[];
  readonly bookmark: JsonValue | undefined;
  readonly env: TestEnv;
}

interface ReadOptions {
  readonly bookmark?: JsonValue;
  readonly acknowledges?: boolean;
  readonly onPage?: () => Promise<void>;
}

async function read(
  topic: string,
  more: JsonObject = {},
  { bookmark, acknowledges = false, onPage }: ReadOptions = {},
): Promise<ReadResult> {
  const config = {
    brokers: brokers(),
    topics: [topic],
    group_id: unique('group'),
    auto_offset_reset: 'earliest',
    idle_timeout: 1,
    poll_timeout: 0.2,
    ...more,
  };
  const checked = check(kafkaSource.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = testEnv();
  const real = sourceContext().env;
  const source = await kafkaSource.open(
    checked.value,
    sourceContext({ env: { ...env, clock: real.clock, fetch: globalThis.fetch } }),
  );
  const pages: Page[] = [];
  const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
  try {
    for await (const page of source.pages(request)) {
      pages.push(page);
      await onPage?.();
      if (acknowledges) await source.acknowledge?.(page.bookmark ?? null);
    }
  } finally {
    await source.close();
  }
  const records = pages.flatMap((page) => page.records() as JsonObject[]);
  return { records, bookmark: pages.at(-1)?.bookmark, env };
}

const values = ({ records }: ReadResult): JsonValue[] => records.map(({ value = null }) => value);

async function write(
  config: JsonObject,
  records: readonly JsonValue[],
): Promise<{ written: number; skipped?: number }> {
  const checked = check(kafkaSink.config, { brokers: brokers(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = { ...testEnv(), clock: sinkContext().env.clock, fetch: globalThis.fetch };
  const sink = await kafkaSink.open(checked.value, sinkContext({ env }));
  try {
    const result = await sink.write(Page.ofRecords(records), { partial: false });
    await sink.flush();
    return result;
  } finally {
    await sink.close();
  }
}

describe.skipIf(missing !== undefined)(`kafka ${missing ?? ''}`, { timeout: LONG }, () => {
  beforeAll(start, 60_000);
  afterAll(stop);

  it('begins at what the group has committed, which is told only where that is asked for', async () => {
    const [topic, group_id] = [await makeTopic(unique('t')), unique('g')];
    await send(topic, [message(1), message(2)]);
    await read(topic, { group_id });
    expect(values(await read(topic, { group_id }))).toEqual([1, 2]);
    await read(topic, { group_id, commit_offsets: true }, { acknowledges: true });
    await send(topic, [message(3)]);
    expect(values(await read(topic, { group_id }))).toEqual([3]);
  });

  it('tells of a topic that is not there, and does not ask for it again', async () => {
    await expect(read(unique('nowhere'))).rejects.toMatchObject({
      kind: 'missing',
      hint: 'make the topic, or check its name',
    });
  });

  it('stores where a first run began that reads only what comes', async () => {
    const topic = await makeTopic(unique('t'));
    await send(topic, [message('old')]);
    const first = await read(topic, { auto_offset_reset: 'latest' });
    expect(values(first)).toEqual([]);
    await send(topic, [message('new')]);
    const { bookmark = null } = first;
    expect(values(await read(topic, { auto_offset_reset: 'latest' }, { bookmark }))).toEqual([
      'new',
    ]);
  });

  it('reads a topic that the document names since, as `auto_offset_reset` says', async () => {
    const [topic, added] = [await makeTopic(unique('t')), await makeTopic(unique('added'))];
    await send(topic, [message(1)]);
    await send(added, [message('old')]);
    const { bookmark = null } = await read(topic);
    const both = { topics: [topic, added] };
    const latest = { ...both, auto_offset_reset: 'latest' };
    const first = await read(topic, latest, { bookmark });
    expect(values(first)).toEqual([]);
    await send(added, [message('new')]);
    const second = await read(topic, latest, { bookmark: first.bookmark ?? null });
    expect(values(second)).toEqual(['new']);
    expect(values(await read(topic, both, { bookmark }))).toEqual(['old', 'new']);
  });

  it('covers every partition with its bookmark, and reads one that was added from its beginning', async () => {
    const topic = await makeTopic(unique('t'), 2);
    await write({ topic: { type: 'fixed', name: topic }, partition_path: '$.p' }, [
      { p: 0 },
      { p: 1 },
    ]);
    const { bookmark = null } = await read(topic, { max_messages: 1, batch_size: 1 });
    const offsets = (bookmark as { partition_offsets: JsonObject[] }).partition_offsets;
    expect(offsets.map(({ partition }) => partition)).toEqual([0, 1]);
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers()] });
    await admin.createPartitions({
      topics: [{ name: topic, count: 3, assignments: [{ brokerIds: [1] }] }],
    });
    await admin.close();
    await write({ topic, partition_path: '$.p' }, [{ p: 2 }]);
    const rest = values(await read(topic, { auto_offset_reset: 'latest' }, { bookmark }));
    expect(rest).toHaveLength(2);
    expect(rest).toContainEqual({ p: 2 });
  });

  it('reads a partition that is added while it reads', async () => {
    const topic = await makeTopic(unique('t'));
    await send(topic, [message(1)]);
    const more = {
      idle_timeout: 25,
      max_messages: 2,
      batch_size: 1,
      extra_client_config: { 'metadata.max.age.ms': '100' },
    };
    let isAdded = false;
    const onPage = async (): Promise<void> => {
      if (isAdded) return;
      isAdded = true;
      const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers()] });
      await admin.createPartitions({
        topics: [{ name: topic, count: 2, assignments: [{ brokerIds: [1] }] }],
      });
      await admin.close();
      await write({ topic, partition_path: '$.p' }, [{ p: 1 }]);
    };
    const result = await read(topic, more, { onPage });
    expect(values(result)).toEqual([1, { p: 1 }]);
    expect(result.bookmark).toEqual({
      partition_offsets: [
        { topic, partition: 0, offset: 1 },
        { topic, partition: 1, offset: 1 },
      ],
    });
  });

  it('goes on with what is left when messages were deleted, and says so', async () => {
    const topic = await makeTopic(unique('t'));
    await send(
      topic,
      [1, 2, 3, 4].map((n) => message(n)),
    );
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers()] });
    await admin.deleteRecords({
      topics: [{ name: topic, partitions: [{ partition: 0, offset: 2n }] }],
    });
    await admin.close();
    const bookmark = { partition_offsets: [{ topic, partition: 0, offset: 0 }] };
    const result = await read(topic, { auto_offset_reset: 'latest' }, { bookmark });
    expect(values(result)).toEqual([3, 4]);
    expect(result.env.lines.map(({ line }) => line).join()).toMatch(
      /deleted before they were read/,
    );
  });

  it('ends when all brokers say that there is nothing, at once where no time is given', async () => {
    const topic = await makeTopic(unique('t'), 3);
    await send(topic, [message(1), message(2)]);
    const idle = { idle_timeout: 0, poll_timeout: 60, session_timeout: 60 };
    const { bookmark = null, ...first } = await read(topic, idle);
    expect(values({ ...first, bookmark })).toEqual([1, 2]);
    expect(values(await read(topic, idle, { bookmark }))).toEqual([]);
  });

  it('fails when the brokers fall silent, however short the time is after which it ends', async () => {
    const topic = await makeTopic(unique('t'), 2);
    await using wire = await FaultyWire.to(Number(brokers().split(':')[1]));
    const more = { brokers: `127.0.0.1:${wire.port}`, idle_timeout: 0.5, session_timeout: 1 };
    await send(topic, [message(1)]);
    const onPage = async (): Promise<void> => {
      wire.arm({ direction: 'down', after: 0, how: 'silence', lasts: 'for good' });
      await send(topic, [message(2)]);
    };
    await expect(read(topic, more, { onPage })).rejects.toMatchObject({ kind: 'timeout' });
  });

  it('leaves out what cannot be decoded, or ends with its place', async () => {
    const topic = await makeTopic(unique('t'));
    const producer = new Producer({
      clientId: 'test',
      bootstrapBrokers: [brokers()],
      idempotent: true,
    });
    const texts = ['{"a":1}', 'no json', '{"a":2}'];
    await producer.send({ messages: texts.map((text) => ({ topic, value: Buffer.from(text) })) });
    await producer.close();
    await expect(read(topic)).rejects.toThrow(/the value of offset 1 in partition 0/);
    expect(values(await read(topic, { on_decode_error: 'skip' }))).toEqual([{ a: 1 }, { a: 2 }]);
    expect(values(await read(topic, { value_format: 'raw_string' }))).toEqual(texts);
    expect(values(await read(topic, { value_format: { type: 'bytes' } }))[1]).toBe(
      Buffer.from('no json').toString('base64'),
    );
  });

  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('writes and reads %s', async (compression) => {
    const topic = await makeTopic(unique('t'));
    const records = Array.from({ length: 250 }, (_, n) => ({ n, text: 'x'.repeat(n) }));
    await write({ topic, compression }, records);
    expect(values(await read(topic))).toEqual(records);
  });

  it('takes key, headers and topic from the record', async () => {
    const topic = await makeTopic(unique('t'));
    const config = {
      topic: { type: 'from_path', path: '$.to' },
      key_path: '$.id',
      headers_path: '$.meta',
    };
    const record = { to: topic, id: 7, meta: { trace: 'x', n: 1 } };
    await write(config, [record]);
    const { records } = await read(topic);
    expect(records).toMatchObject([{ key: '7', value: record, headers: { trace: 'x', n: '1' } }]);
    await expect(write(config, [record, { to: topic }])).rejects.toThrow(
      /there is no key at `\$\.id`/,
    );
    const skipping = { ...config, on_key_error: 'skip' };
    expect(await write(skipping, [{ to: topic }, record])).toMatchObject({
      written: 1,
      skipped: 1,
    });
    await write({ ...config, on_key_error: 'round_robin' }, [{ to: topic }]);
    await expect(write(config, [{ id: 1 }])).rejects.toThrow(/no name of a topic/);
    expect((await read(topic)).records.map(({ key }) => key)).toEqual(['7', '7', null]);
  });

  it('takes the partition from the record, and writes nothing where the topic has no such', async () => {
    const topic = await makeTopic(unique('t'), 2);
    const config = { topic, partition_path: '$.p' };
    await expect(write(config, [{ p: 1 }, { p: 2 }])).rejects.toMatchObject({
      kind: 'data',
      record: 1,
      message: expect.stringContaining(`\`${topic}\` has 2`) as string,
    });
    await write(config, [{ p: 1 }, { p: 0 }]);
    const { records } = await read(topic);
    expect(records).toMatchObject([
      { partition: 0, value: { p: 0 } },
      { partition: 1, value: { p: 1 } },
    ]);
  });

  it('says what to do about a record or a name that no broker takes, and does not try again', async () => {
    const topic = await makeTopic(unique('t'));
    await expect(write({ topic }, [{ v: 'x'.repeat(1_500_000) }])).rejects.toMatchObject({
      kind: 'data',
      hint: expect.stringContaining('max.message.bytes') as string,
    });
    const named = { topic: { type: 'from_path', path: '$.to' } };
    await expect(write(named, [{ to: topic }, { to: 'a b' }])).rejects.toMatchObject({
      kind: 'data',
      record: 1,
    });
    await expect(write({ topic: 'a b' }, [1])).rejects.toMatchObject({ kind: 'refused' });
    expect(values(await read(topic))).toEqual([]);
  });

  it('does not read what a transaction did not commit, and a later run of the row ends it', async () => {
    const [topic, tokens] = [await makeTopic(unique('t')), unique('tokens')];
    const at = { clientId: 'test', bootstrapBrokers: [brokers()], idempotent: true, retries: 50 };
    const killed = new Producer({ ...at, transactionalId: 'svc.a::row', timeout: 60_000 });
    const open = await killed.beginTransaction({ producerId: -1n, producerEpoch: -1 });
    await open.send({ messages: [{ topic, value: Buffer.from('"half"') }] });
    expect(values(await read(topic))).toEqual([]);
    const checked = check(kafkaSink.config, {
      brokers: brokers(),
      topic,
      commit_token_topic: tokens,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await kafkaSink.open(checked.value, sinkContext());
    expect(await sink.tokens?.last('a::row')).toBeUndefined();
    await sink.tokens?.write(Page.ofRecords(['whole']), 'a::row', 'one');
    await sink.close();
    await expect(open.commit()).rejects.toThrow();
    await killed.close(true).catch(() => {});
    expect(values(await read(topic))).toEqual(['whole']);
  });

  it('finds the token of a row behind a transaction of another row that is still open', async () => {
    const [topic, tokens] = [await makeTopic(unique('t')), await makeTopic(unique('tokens'))];
    const config = { brokers: brokers(), topic, commit_token_topic: tokens };
    const checked = check(kafkaSink.config, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const at = { clientId: 'test', bootstrapBrokers: [brokers()], idempotent: true, retries: 50 };
    const slow = new Producer({ ...at, transactionalId: unique('other'), timeout: 60_000 });
    const [first, second] = [
      await kafkaSink.open(checked.value, sinkContext()),
      await kafkaSink.open(checked.value, sinkContext()),
    ];
    try {
      await first.tokens?.write(Page.ofRecords(['a']), 'a::row', 'one');
      const other = await slow.beginTransaction({ producerId: -1n, producerEpoch: -1 });
      await other.send({ messages: [{ topic: tokens, key: Buffer.from('b::row') }] });
      await first.tokens?.write(Page.ofRecords(['b']), 'a::row', 'two');
      const found = second.tokens?.last('a::row');
      expect(await Promise.race([found, sleep(1000, 'nothing yet')])).toBe('nothing yet');
      await other.commit();
      expect(await found).toBe('two');
    } finally {
      await Promise.all([first.close(), second.close(), slow.close(true)]);
    }
  });

  it('commits nothing for an execution when a later one has begun, which goes on', async () => {
    const [topic, tokens] = [await makeTopic(unique('t')), unique('tokens')];
    const checked = check(kafkaSink.config, {
      brokers: brokers(),
      topic,
      commit_token_topic: tokens,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const execution = async (runId: string, claim: number): Promise<TokenWriter> => {
      const sink = await kafkaSink.open(checked.value, sinkContext({ runId, claim }));
      opened.push(sink);
      if (sink.tokens === undefined) throw new Error('it commits tokens');
      return sink.tokens;
    };
    const opened: Sink[] = [];
    const scope = 'a::row';
    const page = (value: string): Page => Page.ofRecords([value]);
    const refused = /another server took over the run/;
    try {
      // Frozen before it committed anything.
      const first = await execution('run', 1);
      expect(await first.last(scope)).toBeUndefined();
      const second = await execution('run', 2);
      expect(await second.last(scope)).toBeUndefined();
      await expect(first.write(page('stale'), scope, 'one')).rejects.toThrow(refused);
      await second.write(page('a'), scope, 'one');
      // Frozen before it took the row over.
      await expect((await execution('run', 1)).last(scope)).rejects.toThrow(refused);
      await second.write(page('b'), scope, 'two');
      // Frozen between two pages.
      const third = await execution('run', 3);
      expect(await third.last(scope)).toBe('two');
      await expect(second.write(page('stale'), scope, 'three')).rejects.toThrow(refused);
      await third.write(page('c'), scope, 'three');
      const next = await execution('next', 1);
      expect(await next.last(scope)).toBe('three');
      await next.write(page('d'), scope, 'four');
    } finally {
      for (const sink of opened) await sink.close();
    }
    expect(values(await read(topic))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('reads of each producer what was committed, whatever it aborted before and after', async () => {
    const topic = await makeTopic(unique('t'));
    const at = { clientId: 'test', bootstrapBrokers: [brokers()], idempotent: true, retries: 50 };
    const producer = new Producer({ ...at, transactionalId: unique('tx') });
    const move = async (texts: readonly string[], end: 'commit' | 'abort'): Promise<void> => {
      const transaction = await producer.beginTransaction();
      for (const text of texts)
        await transaction.send({ messages: [{ topic, value: Buffer.from(JSON.stringify(text)) }] });
      await transaction[end]();
    };
    await move(['no 1'], 'abort');
    await move(['yes 1'], 'commit');
    // Longer than an answer, so that its end is in another one.
    await move(
      [0, 1, 2].map((n) => `no 2 ${n} ${'x'.repeat(500_000)}`),
      'abort',
    );
    await move(['yes 2'], 'commit');
    await move(['no 3'], 'abort');
    await move(['yes 3'], 'commit');
    // One that wrote nothing: the broker marks its end, and lists no transaction for it.
    const empty = await producer.beginTransaction();
    const metadata = await producer.metadata({ topics: [topic] });
    await empty.addPartitions(metadata, [{ topic, partition: 0 } as never]);
    await empty.abort();
    await producer.close();
    expect(values(await read(topic))).toEqual(['yes 1', 'yes 2', 'yes 3']);
    const answers = { extra_client_config: { 'max.partition.fetch.bytes': '600000' } };
    expect(values(await read(topic, answers))).toEqual(['yes 1', 'yes 2', 'yes 3']);
  });

  it('takes it that another row makes the topic of the commit tokens meanwhile', async () => {
    const checked = check(kafkaSink.config, {
      brokers: brokers(),
      topic: unique('t'),
      commit_token_topic: unique('tokens'),
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const tokens = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (scope) => {
        const sink = await kafkaSink.open(checked.value, sinkContext());
        const last = await sink.tokens?.last(scope);
        await sink.close();
        return last;
      }),
    );
    expect(tokens).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('finds the topics that there are', async () => {
    const topic = await makeTopic(unique('found'), 2);
    await send(topic, [message(1), message(2)]);
    const config = kafkaSource.config.parse({
      brokers: brokers(),
      topics: [topic],
      group_id: 'g',
      idle_timeout: 1,
    });
    const found = (await kafkaSource.discover?.(config, sourceContext())) ?? [];
    expect(found).toContainEqual({
      name: topic,
      kind: 'topic',
      estimated_rows: 2,
      config_patch: { topics: [topic] },
    });
    expect(found.some(({ name }) => name.startsWith('__'))).toBe(false);
  });

  describe('with a schema registry', () => {
    let registry: HttpServer;
    const schemas: string[] = [];
    const avro = {
      type: 'record',
      name: 'Order',
      fields: [
        { name: 'id', type: 'long' },
        { name: 'note', type: ['null', 'string'] },
        { name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } },
      ],
    };
    beforeAll(async () => {
      registry = await startHttpServer(({ method, path, json }) => {
        if (method === 'POST') return { json: { id: schemas.push(JSON.stringify(json())) } };
        const stored = schemas[Number(path.split('/').at(-1)) - 1];
        return stored === undefined ? { status: 404, json: {} } : { json: JSON.parse(stored) };
      });
    });
    afterAll(() => registry.close());
    const with_ = () => ({ schema_registry: { url: registry.url } });

    it('Avro goes there and back, with all digits', async () => {
      const topic = await makeTopic(unique('t'));
      const records = [
        { id: 2n ** 60n, note: 'x', at: '2024-01-02T03:04:05.678Z' },
        { id: 1, note: null, at: '1970-01-01T00:00:00.000Z' },
      ];
      const format = { value_format: 'confluent_avro', ...with_() };
      await write({ topic, ...format, value_schema: avro }, records);
      const found = values(await read(topic, format)) as JsonObject[];
      expect(found.map(({ id, note }) => [id, note])).toEqual([
        [2n ** 60n, 'x'],
        [1, null],
      ]);
      expect(found[0]?.['at']).toMatch(/^2024-01-02T03:04:05\.678/);
      expect(
        registry.requests.some(({ path }) => path === `/subjects/${topic}-value/versions`),
      ).toBe(true);
      await expect(write({ topic, ...format, value_schema: avro }, [{ id: 'x' }])).rejects.toThrow(
        /a record cannot be sent.* Avro schema/,
      );
    });

    it('JSON is held to its schema where that is asked for', async () => {
      const topic = await makeTopic(unique('t'));
      const schema = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } };
      const loose = { value_format: { type: 'confluent_json_schema' }, ...with_() };
      const strict = {
        value_format: { type: 'confluent_json_schema', validate: true },
        ...with_(),
      };
      await write({ topic, ...loose, value_schema: schema }, [{ id: 1 }, { x: 2 }]);
      expect(values(await read(topic, loose))).toEqual([{ id: 1 }, { x: 2 }]);
      await expect(read(topic, strict)).rejects.toThrow(/offset 1 .* JSON schema/);
      await expect(
        write({ topic, ...strict, value_schema: schema }, [{ id: 'a' }]),
      ).rejects.toThrow(/does not fit its schema/);
    });

    it('a payload without a schema, or with one that is not there, is told', async () => {
      const topic = await makeTopic(unique('t'));
      await send(topic, [message({ a: 1 })]);
      const format = { value_format: 'confluent_avro', ...with_() };
      await expect(read(topic, format)).rejects.toThrow(/begin with the id of a schema/);
    });
  });
});
