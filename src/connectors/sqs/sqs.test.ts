import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { operationOf, faultReply, Fault } from '../../../test/fakes/aws/protocol.ts';
import { FakeSqs } from '../../../test/fakes/aws/sqs.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { bodiesIn, makeQueue, messagesIn, send } from '../../../test/conformance/fixtures/sqs.ts';
import { loginFields, SECRET } from '../../../test/conformance/fixtures/aws.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import type { WriteResult } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { sqsSink, sqsSource } from './index.ts';

let server: HttpServer;
let fake: FakeSqs;
let queue: string;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  fake = new FakeSqs();
  server.respond((request) => fake.answer(request));
  queue = await makeQueue(server.url);
  server.requests.length = 0;
});

const calls = (operation: string) =>
  server.requests.filter((request) => operationOf(request) === operation);
const bodies = (operation: string) =>
  calls(operation).map((request) => request.json() as { Entries: readonly JsonObject[] });

function parsed(definition: { readonly config: unknown }, config: JsonObject): never {
  const all = { queue_url: queue, ...loginFields, ...config };
  const checked = check(definition.config as never, all);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

const opened = (config: JsonObject, env: TestEnv = testEnv()): Promise<Source> =>
  sqsSource.open(parsed(sqsSource, config), sourceContext({ env }));

async function write(
  records: readonly JsonObject[],
  config: JsonObject = {},
  { partial = false, env = testEnv({ clock: stillClock() }) } = {},
): Promise<WriteResult> {
  const sink = await sqsSink.open(parsed(sqsSink, config), sinkContext({ env }));
  try {
    return await sink.write(Page.ofRecords([...records]), { partial });
  } finally {
    await sink.close();
  }
}

const iterated = (source: Source) => source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();

/** Answers the first calls of an operation in place of the service. */
function failing(operation: string, ...replies: readonly Reply[]): void {
  const left = [...replies];
  server.respond((request) =>
    operationOf(request) === operation
      ? (left.shift() ?? fake.answer(request))
      : fake.answer(request),
  );
}

const throttled = faultReply(new Fault('ThrottlingException', 'Rate exceeded'));

describe('the source', () => {
  it('gives up a service that fails again and again, however long each answer takes', async () => {
    server.respond(async () => {
      await sleep(150);
      return { status: 500 };
    });
    const source = await opened({ max_messages: 1 });
    await expect(iterated(source).next()).rejects.toThrow('messages cannot be received');
    expect(calls('ReceiveMessage')).toHaveLength(3);
    await source.close();
  });

  it('deletes what was acknowledged, and nothing else', async () => {
    await send(queue, ['1', '2', '3', '4', '5']);
    const source = await opened({ batch_size: 2, idle_timeout_secs: 60 });
    const pages = iterated(source);
    const [one, two] = [await pages.next(), await pages.next()];
    expect([one.value?.records(), two.value?.records()]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(await messagesIn(queue)).toBe(5);
    await source.acknowledge?.(one.value?.bookmark ?? null);
    expect(await messagesIn(queue)).toBe(3);
    await source.close();
    expect(await bodiesIn(queue)).toEqual(['3', '4', '5']);
  });

  it('keeps messages hidden from others for as long as it has them', async () => {
    await send(queue, ['1', '2']);
    const clock = stillClock();
    const wakes: (() => void)[] = [];
    const env = testEnv({
      clock: {
        ...clock,
        elapsedMs: () => fake.skippedMs,
        sleep: (ms, signal) =>
          ms < 1000
            ? new Promise((resolve) => setTimeout(resolve, 1))
            : new Promise((resolve) => {
                wakes.push(resolve);
                signal?.addEventListener('abort', () => resolve());
              }),
      },
    });
    const source = await opened({ visibility_timeout_secs: 30, max_messages: 3 }, env);
    const first = await iterated(source).next();
    expect(first.value?.records()).toEqual([1, 2]);
    for (const passed of [1, 2, 3, 4, 5]) {
      fake.skippedMs = passed * 10_000;
      await expect.poll(() => wakes.length).toBe(passed);
      const before = calls('ChangeMessageVisibilityBatch').length;
      wakes.at(-1)?.();
      await expect.poll(() => calls('ChangeMessageVisibilityBatch').length).toBe(before + 1);
    }
    // 50 s have passed, and nobody else gets them.
    const { Messages: others = [] } = await receiveOther();
    expect(others).toEqual([]);
    await source.acknowledge?.(first.value?.bookmark ?? null);
    expect(await messagesIn(queue)).toBe(0);
    await source.close();
  });

  it('deletes again what the service failed on, alone', async () => {
    await send(queue, ['1', '2', '3']);
    const source = await opened({ max_messages: 3 });
    const page = await iterated(source).next();
    let failed = false;
    server.respond(async (request) => {
      if (operationOf(request) !== 'DeleteMessageBatch' || failed) return fake.answer(request);
      failed = true;
      const { Entries: entries } = request.json() as { Entries: JsonObject[] };
      const body = {
        ...(request.json() as JsonObject),
        Entries: entries.filter((_, at) => at !== 1),
      };
      const { json } = await fake.answer({ ...request, json: () => body });
      const fault = { Id: '1', SenderFault: false, Code: 'InternalError' };
      return { json: { ...(json as object), Failed: [fault] } };
    });
    await source.acknowledge?.(page.value?.bookmark ?? null);
    expect(bodies('DeleteMessageBatch').map(({ Entries: all }) => all.length)).toEqual([3, 1]);
    expect(await messagesIn(queue)).toBe(0);
    await source.close();
  });

  it('says that a message comes again which somebody else has by now', async () => {
    await send(queue, ['1', '2']);
    const env = testEnv();
    const source = await opened({ max_messages: 2 }, env);
    const page = await iterated(source).next();
    failing('DeleteMessageBatch', {
      json: {
        Successful: [{ Id: '0' }],
        Failed: [{ Id: '1', SenderFault: true, Code: 'ReceiptHandleIsInvalid' }],
      },
    });
    await source.acknowledge?.(page.value?.bookmark ?? null);
    await source.close();
    expect(env.lines.map(({ line }) => line).join()).toMatch(
      /messages come again.*messages=1.*ReceiptHandleIsInvalid/,
    );
  });

  it('asks again after it was throttled, or its connection was cut', async () => {
    await send(queue, ['1', '2']);
    failing('ReceiveMessage', throttled, { json: {}, breaks: true });
    const env = testEnv();
    const retry = {
      maxAttempts: 5,
      backoff: 'none',
      baseMs: 0,
      maxMs: 0,
      jitter: false,
      on: ['rate_limited', 'connection'],
    } as const;
    const source = await sqsSource.open(
      parsed(sqsSource, { max_messages: 2 }),
      sourceContext({ env, retry }),
    );
    const page = await iterated(source).next();
    expect(page.value?.records()).toEqual([1, 2]);
    await source.close();
  });

  it('tells of expired credentials, and shows no secret', async () => {
    const message = `The security token included in the request is expired\n${SECRET}`;
    failing('ReceiveMessage', faultReply(new Fault('ExpiredTokenException', message, 403)));
    const source = await opened({ max_messages: 2 });
    const failure = await iterated(source)
      .next()
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      kind: 'auth',
      hint: expect.stringContaining('new credentials'),
    });
    expect(String(failure)).toMatch(/token included in the request is expired$/);
    await source.close();
  });

  it('gives one message at a time of a group of a FIFO queue, and moves all of them', async () => {
    const fifo = await makeQueue(server.url, '.fifo');
    await write(
      [1, 2, 3].map((id) => ({ id })),
      { queue_url: fifo, message_group_id: 'g' },
    );
    const source = await opened({
      queue_url: fifo,
      max_messages: 3,
      batch_size: 0,
      wait_time_seconds: 0,
    });
    const found: unknown[] = [];
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      found.push(...page.records());
      if (page.bookmark !== undefined) await source.acknowledge?.(page.bookmark);
    }
    await source.close();
    expect(found).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });
});

async function receiveOther() {
  const { clientOf } = await import('../../../test/conformance/fixtures/sqs.ts');
  return clientOf(server.url).receiveMessage({ QueueUrl: queue, MaxNumberOfMessages: 10 });
}

describe('the sink', () => {
  it('sends requests of ten messages and 256 KiB at most', async () => {
    const long = 'x'.repeat(100_000);
    await write(Array.from({ length: 23 }, (_, id) => ({ id })));
    expect(
      bodies('SendMessageBatch')
        .map(({ Entries: all }) => all.length)
        .sort((a, b) => b - a),
    ).toEqual([10, 10, 3]);
    server.requests.length = 0;
    await write(
      [1, 2, 3].map((id) => ({ id, long })),
      { concurrency: 1 },
    );
    expect(bodies('SendMessageBatch').map(({ Entries: all }) => all.length)).toEqual([2, 1]);
  });

  it('rejects the records that are too long or that the service refuses, and sends nothing without a queue for them', async () => {
    const bad: readonly JsonObject[] = [
      { id: 1 },
      { id: 2, v: 'x'.repeat(262_144) },
      { id: 3, v: '\uffff' },
      { id: 4 },
    ];
    const { written, rejected } = await write(bad, {}, { partial: true });
    expect([written, rejected.map(({ index }) => index)]).toEqual([2, [1, 2]]);
    expect(rejected[1]?.error.message).toMatch(/^InvalidMessageContents: /);
    server.requests.length = 0;
    await expect(write(bad.slice(0, 2))).rejects.toThrow(/a record cannot be written.*262144/);
    expect(calls('SendMessageBatch')).toEqual([]);
  });

  it('sends again what the service has no room for, and nothing else', async () => {
    let asked = 0;
    server.respond(async (request) => {
      if (operationOf(request) !== 'SendMessageBatch' || (asked += 1) > 2)
        return fake.answer(request);
      if (asked === 1) return throttled;
      const { Entries: all } = request.json() as { Entries: JsonObject[] };
      const body = { ...(request.json() as JsonObject), Entries: all.slice(0, 1) };
      const { json } = await fake.answer({ ...request, json: () => body });
      const busy = all
        .slice(1)
        .map(({ Id }) => ({ Id, SenderFault: false, Code: 'ServiceUnavailable' }));
      return { json: { ...(json as object), Failed: busy } };
    });
    await write([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(bodies('SendMessageBatch').map(({ Entries: all }) => all.length)).toEqual([3, 3, 2]);
    expect(await bodiesIn(queue)).toEqual(['{"id":1}', '{"id":2}', '{"id":3}']);
  });

  it('sends again what the answer does not speak of', async () => {
    failing('SendMessageBatch', { json: {} });
    await write([{ id: 1 }, { id: 2 }]);
    expect(await bodiesIn(queue)).toEqual(['{"id":1}', '{"id":2}']);
  });

  it('tells where messages of a FIFO queue come behind later ones', async () => {
    const fifo = await makeQueue(server.url, '.fifo');
    let asked = 0;
    server.respond(async (request) => {
      if (operationOf(request) !== 'SendMessageBatch' || (asked += 1) > 1)
        return fake.answer(request);
      const { Entries: all, ...body } = request.json() as { Entries: JsonObject[] };
      const { json } = await fake.answer({
        ...request,
        json: () => ({ ...body, Entries: all.slice(1) }),
      });
      const busy = [{ Id: '0', SenderFault: false, Code: 'InternalError' }];
      return { json: { ...(json as object), Failed: busy } };
    });
    const env = testEnv({ clock: stillClock() });
    await write([{ id: 1 }, { id: 2 }], { queue_url: fifo, message_group_id: 'g' }, { env });
    expect(await bodiesIn(fifo)).toEqual(['{"id":2}', '{"id":1}']);
    expect(env.lines.map(({ line }) => line).join()).toMatch(/behind later ones.*batch_size/);
  });

  it('gives up after its attempts', async () => {
    server.respond(() => throttled);
    const clock = stillClock();
    const failure = write(
      [{ id: 1 }],
      { retry_max_attempts: 3, retry_initial_backoff_ms: 10 },
      { env: testEnv({ clock }) },
    );
    await expect(failure).rejects.toMatchObject({ kind: 'rate_limited' });
    expect(calls('SendMessageBatch')).toHaveLength(3);
    expect(clock.waits).toHaveLength(2);
  });

  it('sends a request again whose connection was cut, which a FIFO queue takes once', async () => {
    const fifo = await makeQueue(server.url, '.fifo');
    let cut = false;
    server.respond(async (request) => {
      const answer = await fake.answer(request);
      if (operationOf(request) !== 'SendMessageBatch' || cut) return answer;
      cut = true;
      return { ...answer, breaks: true };
    });
    const config = { queue_url: fifo, message_group_id: 'g', message_deduplication_id_field: 'id' };
    await write([{ id: 1 }, { id: 2 }], config);
    expect(await bodiesIn(fifo)).toEqual(['{"id":1}', '{"id":2}']);
    expect(calls('SendMessageBatch')).toHaveLength(2);
  });

  it('rejects a record without an id to compare', async () => {
    const fifo = await makeQueue(server.url, '.fifo');
    const config = { queue_url: fifo, message_group_id: 'g', message_deduplication_id_field: 'id' };
    const { rejected } = await write([{ v: 1 }, { id: 2 }, { id: {} }], config, { partial: true });
    expect(rejected.map(({ index }) => index)).toEqual([0, 2]);
  });
});

it('the source deletes again what the answer does not speak of', async () => {
  await send(queue, ['1', '2']);
  const source = await opened({ batch_size: 2, idle_timeout_secs: 60 });
  const { value } = await iterated(source).next();
  failing('DeleteMessageBatch', { json: {} });
  await source.acknowledge?.(value?.bookmark ?? null);
  expect(calls('DeleteMessageBatch')).toHaveLength(2);
  expect(await messagesIn(queue)).toBe(0);
  await source.close();
});

describe('a config', () => {
  const issues = (definition: { readonly config: unknown }, config: JsonObject) => {
    const checked = check(definition.config as never, {
      queue_url: 'https://sqs.eu-north-1.amazonaws.com/1/q',
      ...config,
    });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };

  it('needs an end, a group where the queue is FIFO, and batches that the service takes', () => {
    expect(issues(sqsSource, {})).toEqual(['idle_timeout_secs']);
    expect(issues(sqsSource, { max_messages: 1, wait_time_seconds: 21 })).toEqual([
      'wait_time_seconds',
    ]);
    expect(issues(sqsSink, { queue_url: 'https://x/1/q.fifo' })).toEqual(['message_group_id']);
    expect(issues(sqsSink, { message_deduplication_id_field: 'id' })).toEqual([
      'message_deduplication_id_field',
    ]);
    expect(issues(sqsSink, { batch_size: 11 })).toEqual(['batch_size']);
  });

  it.each<JsonValue>([
    'default',
    { type: 'default' },
    { type: 'default', config: {} },
    { type: 'profile', config: { name: 'a' } },
    { type: 'profile', config: { profile: 'a' } },
    { type: 'assume_role', config: { role_arn: 'arn:aws:iam::1:role/a', external_id: 'x' } },
    { type: 'web_identity' },
  ])('takes credentials as %j', (credentials) => {
    expect(issues(sqsSink, { credentials })).toEqual([]);
  });

  it('gives the address of the data set by region and name', () => {
    const uri = (config: JsonObject) => {
      const checked = check(sqsSink.config, config);
      return checked.ok && sqsSink.datasetUri(checked.value);
    };
    expect(uri({ queue_url: 'https://sqs.eu-north-1.amazonaws.com/1/orders' })).toBe(
      'sqs://eu-north-1/orders',
    );
    expect(uri({ queue_url: 'http://localhost:9324/0/orders', region: 'x' })).toBe(
      'sqs://x/orders',
    );
    expect(uri({ queue_url: 'http://localhost:9324/0/orders' })).toBe('sqs://default/orders');
  });
});

it('the doctor asks for the attributes of the queue, on both sides', async () => {
  const probe = async (config: JsonObject) =>
    (await sqsSink.probe?.(parsed(sqsSink, config), sinkContext())) ?? [];
  expect(await probe({})).toEqual([{ name: 'get_queue_attributes', status: 'pass' }]);
  expect(await probe({ queue_url: `${server.url}/0/none` })).toEqual([
    expect.objectContaining({ status: 'fail', hint: expect.stringContaining('name') }),
  ]);
});
