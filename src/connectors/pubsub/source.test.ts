import { generateKeyPairSync } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import * as wire from '@bufbuild/protobuf/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { FakePubsub } from '../../../test/fakes/pubsub.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import {
  makePlace,
  messageOf,
  publish,
  type Place,
} from '../../../test/conformance/fixtures/pubsub.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { Source } from '../../kit/source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { encoded, messageType, named, one, some } from '../_google/messages.ts';
import { pubsubSource } from './index.ts';

let fake: FakePubsub;
let place: Place;

beforeEach(async () => {
  fake = await FakePubsub.start();
  place = await makePlace(fake.address);
  fake.calls.length = 0;
});
afterEach(() => fake.close());

function checked(config: JsonObject) {
  return check(pubsubSource.config, { subscription: 'orders', ...config });
}

function parsed(config: JsonObject): never {
  const all = {
    subscription: place.subscription,
    emulator_host: fake.address,
    ...config,
  };
  const result = checked(all);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value as never;
}

const opened = (config: JsonObject, env: TestEnv = testEnv()): Promise<Source> =>
  pubsubSource.open(parsed(config), sourceContext({ env }));

const read = async (config: JsonObject, env?: TestEnv): Promise<unknown[]> =>
  (await readAll(await opened(config, env))).flatMap((page) => [...page.records()]);

const send = (...data: string[]): Promise<void> =>
  publish(
    fake.address,
    place,
    data.map((text) => messageOf(text)),
  );

/** Waits before repeats are short. */
const hasty = (): TestEnv =>
  testEnv({
    clock: {
      ...systemClock,
      sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal),
    },
  });

const iterated = (source: Source) => source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
const calls = (method: string) => fake.calls.filter((call) => call.method === method);

const STATUS = messageType<{ details: readonly object[] }>({
  details: some(3, messageType({ type_url: one(1, 'string'), value: one(2, 'bytes') })),
});
const ERROR_INFO = messageType<{ metadata: object }>({ metadata: named(3, 'string') });

/** What a subscription that delivers exactly once says of single messages. */
function outcomes(of: Readonly<Record<string, string>>): Metadata {
  const value = encoded(wire, ERROR_INFO, { metadata: of });
  const detail = { type_url: 'type.googleapis.com/google.rpc.ErrorInfo', value };
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', encoded(wire, STATUS, { details: [detail] }));
  return metadata;
}

describe('records', () => {
  it('hold texts, and bytes as base64, where the format says so', async () => {
    await send('{"a":1}');
    expect(await read({ value_format: 'string', max_messages: 1 })).toMatchObject([
      { data: '{"a":1}' },
    ]);
    expect(await read({ value_format: 'bytes', max_messages: 1 })).toMatchObject([
      { data: 'eyJhIjoxfQ==' },
    ]);
  });

  it('have their attributes in the field that is named', async () => {
    const attributes = { kind: 'x', ['__proto__']: 'y' };
    await publish(fake.address, place, [messageOf('1', { attributes })]);
    const [record] = await read({ attributes_key: 'headers', max_messages: 1 });
    expect(Object.entries((record as JsonObject)['headers'] as JsonObject)).toEqual([
      ['kind', 'x'],
      ['__proto__', 'y'],
    ]);
  });

  it('that cannot be decoded end the run, or are left out', async () => {
    await send('1', '{', '3');
    const error = await failureOf(read({ max_messages: 3 }));
    expect(error).toMatchObject({ kind: 'data', message: expect.stringContaining('is not JSON') });
    const left = await read({ max_messages: 3, on_decode_error: 'skip' });
    expect(left).toMatchObject([{ data: 1 }, { data: 3 }]);
  });
});

describe('messages', () => {
  it('are asked for in the numbers that the run may have', async () => {
    await send('1', '2', '3', '4', '5', '6');
    const config = { max_messages: 5, max_messages_per_pull: 3 };
    expect(await read(config)).toHaveLength(5);
    expect(calls('Pull').map(({ request }) => request)).toMatchObject([
      { max_messages: 3 },
      { max_messages: 2 },
    ]);
    // The sixth was nobody's, so nothing counts it as delivered.
    expect(await read({ max_messages: 6 })).toHaveLength(6);
  });

  it('are held before they are worked on, and for as long as the run has them', async () => {
    await send('1', '2');
    const clock = stillClock();
    const wakes: (() => void)[] = [];
    let now = 0;
    const env = testEnv({
      clock: {
        ...clock,
        elapsedMs: () => now,
        sleep: (ms, signal) =>
          ms < 1000
            ? new Promise((resolve) => setTimeout(resolve, 1))
            : new Promise((resolve) => {
                wakes.push(resolve);
                signal?.addEventListener('abort', () => resolve());
              }),
      },
    });
    const source = await opened({ max_messages: 3 }, env);
    const pages = iterated(source);
    const first = pages.next();
    await expect.poll(() => calls('ModifyAckDeadline').length).toBe(1);
    expect(calls('ModifyAckDeadline')[0]?.request).toMatchObject({
      ack_ids: ['1-1', '2-1'],
      ack_deadline_seconds: 60,
    });
    now = 200;
    expect((await first).value?.count).toBe(2);
    for (const round of [1, 2, 3, 4]) {
      await expect.poll(() => wakes.length).toBe(round);
      now = round * 20_000;
      wakes.at(-1)?.();
      await expect.poll(() => calls('ModifyAckDeadline').length).toBe(1 + round);
    }
    await source.close();
  });

  it('are for others at once when the source is closed', async () => {
    await send('1', '2', '3');
    const source = await opened({ batch_size: 2, max_messages: 10 });
    const page = await iterated(source).next();
    await source.acknowledge?.(page.value?.bookmark ?? null);
    expect(page.value?.bookmark).toEqual({ delivered: 2, last_message_id: '2' });
    await source.close();
    expect(fake.left(place.subscription)).toBe(1);
    expect(calls('ModifyAckDeadline').at(-1)?.request).toMatchObject({
      ack_ids: ['3-1'],
      ack_deadline_seconds: 0,
    });
  });

  it('of an ordering key do not wait for a page of everything', async () => {
    await publish(fake.address, place, [messageOf('1', { ordering_key: 'k' })]);
    const source = await opened({ batch_size: 0, idle_termination_secs: 3600 });
    const page = await iterated(source).next();
    expect(page.value?.count).toBe(1);
    await source.close();
  });

  it('that somebody else has by now are told in the log, and the run goes on', async () => {
    await send('1', '2', '3');
    const env = hasty();
    const source = await opened({ max_messages: 4 }, env);
    const page = await iterated(source).next();
    let attempts = 0;
    fake.fault = (method) => {
      if (method !== 'Acknowledge') return undefined;
      attempts += 1;
      if (attempts > 1) return undefined;
      const metadata = outcomes({
        '1-1': 'PERMANENT_FAILURE_INVALID_ACK_ID',
        '2-1': 'TRANSIENT_FAILURE_CANNOT_GET_LOCK',
      });
      return { code: status.FAILED_PRECONDITION, details: 'some failed', metadata };
    };
    await source.acknowledge?.(page.value?.bookmark ?? null);
    const acknowledged = calls('Acknowledge').map(({ request }) => request);
    expect(acknowledged).toMatchObject([
      { ack_ids: ['1-1', '2-1', '3-1'] },
      { ack_ids: ['2-1', '3-1'] },
    ]);
    expect(JSON.stringify(env.lines)).toContain('somebody else may have them');
    await source.close();
  });

  it('that are not acknowledged for now are acknowledged again, and an error is told', async () => {
    await send('1');
    const source = await opened({ max_messages: 2 }, hasty());
    const page = await iterated(source).next();
    let attempts = 0;
    fake.fault = (method) => {
      if (method !== 'Acknowledge') return undefined;
      attempts += 1;
      return attempts < 3 ? { code: status.UNAVAILABLE, details: 'later' } : undefined;
    };
    await source.acknowledge?.(page.value?.bookmark ?? null);
    expect(fake.left(place.subscription)).toBe(0);
    await source.close();
  });
});

describe('the run', () => {
  it('goes on when the service is away for a moment', async () => {
    await send('1');
    let attempts = 0;
    fake.fault = (method) => {
      if (method !== 'Pull') return undefined;
      attempts += 1;
      return attempts < 3 ? { code: status.UNAVAILABLE, details: 'away' } : undefined;
    };
    expect(await read({ max_messages: 1 }, hasty())).toHaveLength(1);
  });

  it('ends with what the service says, and with what helps', async () => {
    fake.fault = () => ({ code: status.PERMISSION_DENIED, details: 'User not authorized.' });
    const error: unknown = await read({ max_messages: 1 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      kind: 'auth',
      message: 'messages cannot be pulled: User not authorized.',
      hint: expect.stringContaining('Pub/Sub Subscriber'),
    });
  });

  it('ends after silence, which an answer without messages is, too', async () => {
    expect(await read({ idle_termination_secs: 0.2 })).toEqual([]);
    const late = { code: status.DEADLINE_EXCEEDED, details: 'too late' };
    fake.fault = (method) => (method === 'Pull' ? late : undefined);
    expect(await read({ idle_termination_secs: 0.2 })).toEqual([]);
  });

  it('fails when the service is silent altogether', async () => {
    fake.fault = () => ({ code: status.DEADLINE_EXCEEDED, details: 'too late' });
    await expect(read({ idle_termination_secs: 0.2 })).rejects.toThrow('too late');
  });

  it('tells the service which subscription it asks about', async () => {
    await send('1');
    await read({ max_messages: 1 });
    expect(calls('Pull')[0]?.headers).toMatchObject({
      'x-goog-request-params': `subscription=${encodeURIComponent(place.subscription)}`,
    });
  });
});

describe('the project', () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const keyOf = (more: JsonObject): JsonObject => ({
    type: 'service_account_json_inline',
    config: {
      json: JSON.stringify({
        type: 'service_account',
        client_email: 'loader@shop.test',
        private_key: privateKey,
        ...more,
      }),
    },
  });

  it('is that of the key where nothing else tells one', async () => {
    const source = await pubsubSource.open(
      checkedValue({ subscription: 'nothing', max_messages: 1, credentials: keyOf({}) }),
      sourceContext(),
    );
    const error: unknown = await readAll(source).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'refused', hint: expect.stringContaining('project_id') });
  });

  it('of a key is used, and the service is only spoken to over TLS', async () => {
    const source = await pubsubSource.open(
      checkedValue({
        subscription: 'orders',
        max_messages: 1,
        credentials: keyOf({ project_id: 'shop' }),
        endpoint: fake.address,
      }),
      sourceContext({ env: hasty() }),
    );
    const error = await failureOf(readAll(source));
    expect(error).toMatchObject({ kind: expect.stringMatching(/refused|connection/) });
    expect(fake.calls).toEqual([]);
  });

  it('stands in the address of the data set', () => {
    const address = (config: JsonObject): string =>
      pubsubSource.datasetUri(checkedValue({ max_messages: 1, ...config }));
    expect(address({ subscription: 'orders', project_id: 'shop' })).toBe(
      'pubsub://shop/subscriptions/orders',
    );
    expect(address({ subscription: 'projects/a/subscriptions/orders', project_id: 'b' })).toBe(
      'pubsub://a/subscriptions/orders',
    );
  });
});

function checkedValue(config: JsonObject): never {
  const result = checked(config);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value as never;
}

describe('a config', () => {
  it.each<[string, JsonObject, string]>([
    ['that would not end', {}, 'idle_termination_secs'],
    ['with another kind of name', { subscription: 'projects/p/topics/t' }, 'subscription'],
    ['with a name that is none', { subscription: 'a/b' }, 'subscription'],
    ['with two addresses', { emulator_host: 'a:1', endpoint: 'b:1', project_id: 'p' }, 'endpoint'],
    ['with a login in clear text', { endpoint: 'http://pubsub.test' }, 'endpoint'],
    ['without a login', { credentials: 'anonymous' }, 'credentials.type'],
    ['of an emulator without a project', { emulator_host: 'a:1' }, 'project_id'],
    ['whose attributes take the place of a field', { attributes_key: 'data' }, 'attributes_key'],
  ])('%s is refused', (_what, config, path) => {
    const ends = path === 'idle_termination_secs' ? config : { max_messages: 1, ...config };
    const result = checked(ends);
    expect(result.ok ? [] : result.issues.map((issue) => issue.path)).toContain(path);
  });
});

describe('probes', () => {
  it('say whether the subscription exists', async () => {
    const probe = (config: JsonObject) => pubsubSource.probe?.(parsed(config), sourceContext());
    expect(await probe({ max_messages: 1 })).toEqual([
      { name: 'subscription_exists', status: 'pass' },
    ]);
    const missing = { subscription: 'projects/shop/subscriptions/nothing', max_messages: 1 };
    expect(await probe(missing)).toMatchObject([{ name: 'subscription_exists', status: 'fail' }]);
  });
});
