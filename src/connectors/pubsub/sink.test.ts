import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, testEnv } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { FakePubsub } from '../../../test/fakes/pubsub.ts';
import { makePlace, type Place } from '../../../test/conformance/fixtures/pubsub.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { WriteResult } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { PubsubMessage } from './api.ts';
import { pubsubSink } from './index.ts';

let fake: FakePubsub;
let place: Place;

beforeEach(async () => {
  fake = await FakePubsub.start();
  place = await makePlace(fake.address);
  fake.calls.length = 0;
});
afterEach(() => fake.close());

function parsed(config: JsonObject): never {
  const all = { topic: place.topic, emulator_host: fake.address, ...config };
  const result = check(pubsubSink.config, all);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value as never;
}

async function write(
  records: readonly JsonValue[],
  config: JsonObject = {},
  { partial = false } = {},
): Promise<WriteResult> {
  const env = testEnv({ clock: stillClock() });
  const sink = await pubsubSink.open(parsed(config), sinkContext({ env }));
  try {
    return await sink.write(Page.ofRecords([...records]), { partial });
  } finally {
    await sink.close();
  }
}

const requests = (): PubsubMessage[][] =>
  fake.calls
    .filter(({ method }) => method === 'Publish')
    .map(({ request }) => (request as { messages: PubsubMessage[] }).messages);
const textOf = ({ data }: PubsubMessage): string => Buffer.from(data).toString();
const stored = (): readonly PubsubMessage[] => fake.topics.get(place.topic) ?? [];

describe('a request', () => {
  it('holds as many messages as the config says', async () => {
    await write([1, 2, 3, 4, 5], { batch_size: 2, concurrency: 1 });
    expect(requests().map((messages) => messages.map(textOf))).toEqual([
      ['1', '2'],
      ['3', '4'],
      ['5'],
    ]);
  });

  it('holds no more bytes than the service takes', async () => {
    const long = 'x'.repeat(4_000_000);
    await write([long, long, long], { concurrency: 1 });
    expect(requests().map((messages) => messages.length)).toEqual([2, 1]);
  });

  it('holds messages of one ordering key only, which come in their order', async () => {
    const records = Array.from({ length: 12 }, (_, id) => ({ id, key: `k${id % 3}` }));
    const ordering_key = { type: 'jsonpath', path: '$.key' };
    await write(records, { ordering_key, batch_size: 2, concurrency: 8 });
    for (const messages of requests())
      expect(new Set(messages.map(({ ordering_key: key }) => key)).size).toBe(1);
    for (const key of ['k0', 'k1', 'k2']) {
      const ids = stored()
        .filter((message) => message.ordering_key === key)
        .map((message) => (JSON.parse(textOf(message)) as { id: number }).id);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      expect(ids).toHaveLength(4);
    }
  });

  it('that fails ends its key: nothing of it comes before what was not taken', async () => {
    const records = Array.from({ length: 6 }, (_, id) => ({ id, key: 'k' }));
    fake.fault = (_method, { messages }: { messages: PubsubMessage[] }) =>
      textOf(messages[0] as PubsubMessage).includes('"id":2')
        ? { code: status.NOT_FOUND, details: 'gone' }
        : undefined;
    const ordering_key = { type: 'field', name: 'key' };
    await failureOf(write(records, { ordering_key, batch_size: 2 }));
    expect(stored().map((message) => JSON.parse(textOf(message)) as unknown)).toEqual(
      records.slice(0, 2),
    );
  });

  it('that finds the service away is sent again', async () => {
    let attempts = 0;
    fake.fault = () => {
      attempts += 1;
      return attempts < 4 ? { code: status.UNAVAILABLE, details: 'away' } : undefined;
    };
    expect(await write([1, 2])).toEqual({ written: 2, rejected: [] });
    expect(stored()).toHaveLength(2);
  });
});

describe('a message', () => {
  it('has attributes from a field of its record, which its data does not have', async () => {
    const headers = { a: 'x', n: 1n, yes: true, none: null };
    await write([{ id: 1, headers }, { id: 2 }], { attributes_field: 'headers' });
    expect(stored().map((one) => [textOf(one), { ...one.attributes }])).toEqual([
      ['{"id":1}', { a: 'x', n: '1', yes: 'true' }],
      ['{"id":2}', {}],
    ]);
  });

  it('holds a text or the bytes of base64 where the format says so', async () => {
    await write(['a text', { id: 1 }], { value_format: 'string' });
    await write(['AP8='], { value_format: 'bytes' });
    expect(stored().map(({ data }) => Buffer.from(data))).toEqual([
      Buffer.from('a text'),
      Buffer.from('{"id":1}'),
      Buffer.from([0, 255]),
    ]);
  });

  it.each<[string, JsonValue, JsonObject, string]>([
    ['no base64', '?', { value_format: 'bytes' }, 'base64'],
    ['an empty text', '', { value_format: 'string' }, 'empty'],
    ['a name of Google', { h: { googclient: 1 } }, { attributes_field: 'h' }, 'goog'],
    ['a nested attribute', { h: { a: [1] } }, { attributes_field: 'h' }, 'single value'],
    ['a long attribute', { h: { a: 'x'.repeat(1025) } }, { attributes_field: 'h' }, '1024'],
    ['no ordering key', { a: 1 }, { ordering_key: { type: 'field', name: 'k' } }, 'there is none'],
    ['more bytes than are taken', 'x'.repeat(9_600_000), {}, 'are the most'],
  ])(
    'with %s is rejected, and nothing of its page is sent without a queue',
    async (_what, bad, config, says) => {
      const result = await write([bad], config, { partial: true });
      expect(result).toMatchObject({ written: 0, rejected: [{ index: 0 }] });
      expect(result.rejected[0]?.error.message).toContain(says);
      await failureOf(write([bad, 'Zm9v'], config));
      expect(requests()).toEqual([]);
    },
  );

  it('that the service refuses is found among those of its request', async () => {
    fake.fault = (_method, { messages }: { messages: PubsubMessage[] }) =>
      messages.some((message) => textOf(message).includes('bad'))
        ? { code: status.INVALID_ARGUMENT, details: 'it does not match the schema' }
        : undefined;
    const records = [1, 2, 'bad', 4, 5, 'bad too', 7];
    const result = await write(records, {}, { partial: true });
    expect(result.rejected.map(({ index }) => index)).toEqual([2, 5]);
    expect(result.written).toBe(5);
    expect(stored().map(textOf)).toEqual(['1', '2', '4', '5', '7']);
    const error = await failureOf(write(records));
    expect(error).toMatchObject({ kind: 'refused' });
  });
});

describe('a config', () => {
  it('does not look for attributes in bytes', () => {
    const config = { topic: 'orders', value_format: 'bytes', attributes_field: 'h' };
    const result = check(pubsubSink.config, config);
    expect(result.ok ? [] : result.issues).toMatchObject([
      { code: 'conflicting_keys', path: 'attributes_field' },
    ]);
  });

  it.each(['field', 'none'])('may spell its ordering key as a tag: %s', (type) => {
    const ordering_key = type === 'field' ? { type: 'Field', config: { name: 'k' } } : 'None';
    const result = check(pubsubSink.config, { topic: 'orders', ordering_key });
    expect(result).toMatchObject({ ok: true, value: { ordering_key: { type } } });
  });
});

it('is probed by asking for its topic', async () => {
  const probe = (config: JsonObject) => pubsubSink.probe?.(parsed(config), sinkContext());
  expect(await probe({})).toEqual([{ name: 'topic_exists', status: 'pass' }]);
  const missing = await probe({ topic: 'projects/shop/topics/nothing' });
  expect(missing).toMatchObject([{ name: 'topic_exists', status: 'fail' }]);
});
