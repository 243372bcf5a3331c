import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  client,
  makeQueue,
  messagesIn,
  missing,
  send,
  start,
  stop,
  textsIn,
  unique,
  url,
} from '../../../test/conformance/fixtures/rabbitmq.ts';
import { sinkContext, sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { tcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import type { SourceContext } from '../../kit/context.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { rabbitmqSink, rabbitmqSource } from './index.ts';

const LONG = 240_000;

async function opened(config: JsonObject, context: Partial<SourceContext> = {}): Promise<Source> {
  const checked = check(rabbitmqSource.config, { url: url(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return rabbitmqSource.open(checked.value, sourceContext(context));
}

interface ReadResult {
  readonly records: readonly JsonValue[];
  readonly pages: readonly Page[];
  readonly env: TestEnv;
}

async function read(
  config: JsonObject,
  { acknowledges = true, rejects = false } = {},
): Promise<ReadResult> {
  const env = testEnv();
  const source = await opened(config, { env });
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE, rejects })) {
      pages.push(page);
      if (acknowledges && page.bookmark !== undefined) await source.acknowledge?.(page.bookmark);
    }
  } finally {
    await source.close();
  }
  return { records: pages.flatMap((page) => [...page.records()]), pages, env };
}

async function write(config: JsonObject, records: readonly JsonValue[]): Promise<void> {
  const checked = check(rabbitmqSink.config, { url: url(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await rabbitmqSink.open(checked.value, sinkContext());
  try {
    await sink.write(Page.ofRecords(records), { partial: false });
  } finally {
    await sink.close();
  }
}

const proxied = async () => {
  const { port, hostname: host } = new URL(url());
  const proxy = await tcpProxy({ host, port: Number(port) });
  return { proxy, address: url().replace(/:\d+$/, `:${proxy.port}`) };
};

describe.skipIf(missing !== undefined)(`rabbitmq ${missing ?? ''}`, { timeout: LONG }, () => {
  beforeAll(start, LONG);
  afterAll(stop);

  describe('a queue', () => {
    it('that is a stream is refused, which would begin behind what it holds each time', async () => {
      const queue = unique('s');
      const stream = { durable: true, arguments: { 'x-queue-type': 'stream' } };
      await (await client()).assertQueue(queue, stream);
      await send(queue, [1, 2, 3]);
      const config = { queue, declare_queue: false, idle_timeout_secs: 2 };
      await expect(read(config)).rejects.toMatchObject({
        code: 'connector_refused',
        message: expect.stringMatching(/is a stream/) as string,
      });
    });

    it('keeps what was not acknowledged, and gives it again in its place', async () => {
      const queue = await makeQueue();
      await send(queue, [1, 2, 3, 4, 5]);
      const source = await opened({ queue, batch_size: 2, idle_timeout_secs: 60 });
      for await (const { bookmark = null } of source.pages({ lane: RECORDS_LANE })) {
        await source.acknowledge?.(bookmark);
        break;
      }
      await source.close();
      const { records } = await read({ queue, max_messages: 3 });
      expect(records).toEqual([3, 4, 5]);
      expect(await messagesIn(queue)).toBe(0);
    });

    it('gives no more than max_messages, and the rest to others', async () => {
      const queue = await makeQueue();
      await send(queue, [1, 2, 3, 4, 5]);
      const { records } = await read({ queue, max_messages: 3, batch_size: 1 });
      expect(records).toEqual([1, 2, 3]);
      expect(await textsIn(queue)).toEqual(['4', '5']);
    });

    it('ends after a time without a message', async () => {
      const { records } = await read({ queue: unique('made'), idle_timeout_secs: 0.2 });
      expect(records).toEqual([]);
    });

    it('is told at once with ack_mode auto', async () => {
      const queue = await makeQueue();
      await send(queue, [1, 2, 3]);
      const { records, pages } = await read({ queue, ack_mode: 'auto', max_messages: 2 });
      expect(records).toEqual([1, 2]);
      expect(pages.every(({ bookmark }) => bookmark === undefined)).toBe(true);
      await expect.poll(() => textsIn(queue)).toEqual(['3']);
    });

    it('of long messages is read in parts', async () => {
      const queue = await makeQueue();
      await send(
        queue,
        Array.from({ length: 40 }, () => 'x'.repeat(20_000)),
      );
      const source = await opened({ queue, max_messages: 40 }, { pageBytes: 50_000 });
      let count = 0;
      for await (const page of source.pages({ lane: RECORDS_LANE })) {
        count += page.count;
        expect(page.bytes).toBeLessThan(51_000);
        await source.acknowledge?.(page.bookmark ?? null);
      }
      await source.close();
      expect([count, await messagesIn(queue)]).toEqual([40, 0]);
    });

    it('is bound to the exchanges that are named, which are made', async () => {
      const [queue, exchange] = [unique('q'), unique('x')];
      const bindings = [{ exchange, routing_key: 'a.#', exchange_kind: 'topic' }];
      const config = { queue, bindings, include_metadata: true };
      await read({ ...config, idle_timeout_secs: 0.1 });
      (await client()).publish(exchange, 'a.b', Buffer.from('{"id":1}'), {
        headers: { kind: 'new', count: 2, bytes: Buffer.from('x'), nested: { a: [true] } },
        contentType: 'application/json',
        messageId: 'm1',
        timestamp: 1_700_000_000,
      });
      (await client()).publish(exchange, 'other', Buffer.from('{"id":2}'));
      await (await client()).waitForConfirms();
      const { records } = await read({ ...config, max_messages: 1 });
      expect(records).toEqual([
        {
          data: { id: 1 },
          exchange,
          routing_key: 'a.b',
          redelivered: false,
          headers: { kind: 'new', count: 2, bytes: 'eA==', nested: { a: [true] } },
          content_type: 'application/json',
          message_id: 'm1',
          correlation_id: null,
          timestamp: 1_700_000_000,
        },
      ]);
      expect(await messagesIn(queue)).toBe(0);
    });

    it('gives texts and bytes where that is asked for', async () => {
      const queue = await makeQueue();
      const bytes = Buffer.from([0xff, 0x00]);
      await send(queue, [Buffer.from('{'), bytes]);
      const text = await read({ queue, value_format: 'string', max_messages: 1 });
      expect(text.records).toEqual(['{']);
      const base64 = await read({ queue, value_format: 'bytes', max_messages: 1 });
      expect(base64.records).toEqual(['/wA=']);
    });

    it('with a payload that is not as it should be ends the run, or leaves it out', async () => {
      const queue = await makeQueue();
      await send(queue, [1, Buffer.from('{"secret": '), 3]);
      const fails = read({ queue, max_messages: 3 });
      await expect(fails).rejects.toMatchObject({
        code: 'connector_data',
        message: expect.not.stringContaining('secret') as string,
      });
      expect(await messagesIn(queue)).toBe(3);
      const dead = await read(
        { queue, max_messages: 3, on_decode_error: 'dlq' },
        { acknowledges: false, rejects: true },
      );
      expect(dead.pages.flatMap(({ rejected }) => rejected)).toMatchObject([
        { payload: '{"secret": ', input: queue, index: 1 },
      ]);
      const skips = await read({ queue, max_messages: 3, on_decode_error: 'skip' });
      expect([skips.records, await messagesIn(queue)]).toEqual([[1, 3], 0]);
    });

    it('is read on after the connection was cut, without what was acknowledged', async () => {
      const queue = await makeQueue();
      await send(queue, [1, 2, 3, 4]);
      const { proxy, address } = await proxied();
      const retry = {
        maxAttempts: 1000,
        backoff: 'none' as const,
        baseMs: 50,
        maxMs: 50,
        jitter: false,
        on: ['connection' as const, 'timeout' as const],
      };
      const config = { queue, url: address, batch_size: 2, prefetch: 2, idle_timeout_secs: 60 };
      const source = await opened(config, { retry });
      const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
      const first = (await pages.next()).value as Page;
      await source.acknowledge?.(first.bookmark ?? null);
      const second = (await pages.next()).value as Page;
      proxy.cut();
      proxy.heal();
      const again = (await pages.next()).value as Page;
      await source.acknowledge?.(second.bookmark ?? null);
      expect([first, second, again].map((page) => page.records())).toEqual([
        [1, 2],
        [3, 4],
        [3, 4],
      ]);
      await source.acknowledge?.(again.bookmark ?? null);
      expect(await messagesIn(queue)).toBe(0);
      await source.close();
      await proxy.close();
    });

    it('that is deleted while it is read ends the run', async () => {
      const queue = await makeQueue();
      const reading = read({ queue, idle_timeout_secs: 60 });
      await expect
        .poll(async () => (await (await client()).checkQueue(queue)).consumerCount)
        .toBe(1);
      await (await client()).deleteQueue(queue);
      await expect(reading).rejects.toThrow(/was deleted/);
    });

    it('is not read with settings that it has not', async () => {
      const queue = await makeQueue();
      const reading = read({ queue, queue_durable: false, max_messages: 1 });
      await expect(reading).rejects.toMatchObject({
        code: 'connector_refused',
        hint: expect.stringContaining('declare_queue') as string,
      });
    });
  });

  describe('the sink', () => {
    it('fails a page with a message that reaches no queue, confirmed or not', async () => {
      for (const confirm of [true, false]) {
        const lost = write({ routing_key: unique('nobody'), confirm }, [{ id: 1 }]);
        await expect(lost).rejects.toThrow(/leads to no queue/);
        await write({ routing_key: unique('nobody'), confirm, mandatory: false }, [{ id: 1 }]);
      }
    });

    it('makes its exchange, and takes keys of fields and paths', async () => {
      const [exchange, queue] = [unique('x'), await makeQueue()];
      await (await client()).assertExchange(exchange, 'topic', { durable: true });
      await (await client()).bindQueue(queue, exchange, 'k.*');
      const made = { exchange, exchange_kind: 'topic' };
      await write({ ...made, routing_key_field: 'to' }, [{ id: 1, to: 'k.1' }]);
      await write({ ...made, routing_key_jsonpath: '$.a.b' }, [{ id: 2, a: { b: 'k.2' } }]);
      expect(await textsIn(queue)).toEqual(['{"id":1,"to":"k.1"}', '{"id":2,"a":{"b":"k.2"}}']);
      for (const to of [null, {}, 'x'.repeat(256)])
        await expect(
          write({ ...made, routing_key_field: 'to' }, [
            { id: 3, to: 'k.3' },
            { id: 4, to },
          ]),
        ).rejects.toMatchObject({ message: '`to` of a record is no routing key', record: 1 });
      expect(await textsIn(queue)).toHaveLength(2);
    });

    it('writes texts as they are and bytes of base64, with their content type', async () => {
      const queue = await makeQueue();
      await write({ routing_key: queue, value_format: 'string' }, ['a "b"', { id: 1 }]);
      await write({ routing_key: queue, value_format: 'bytes' }, ['/wA=']);
      const found = [];
      for (let count = 0; count < 3; count += 1) {
        const message = await (await client()).get(queue, { noAck: true });
        if (message === false) break;
        const { contentType, deliveryMode } = message.properties;
        found.push([message.content.toString('latin1'), contentType, deliveryMode]);
      }
      expect(found).toEqual([
        ['a "b"', 'text/plain', 2],
        ['{"id":1}', 'text/plain', 2],
        ['\u00FF\0', 'application/octet-stream', 2],
      ]);
      await expect(
        write({ routing_key: queue, value_format: 'bytes' }, ['no base64!']),
      ).rejects.toMatchObject({ message: 'a record is no base64 text', record: 0 });
    });

    it('sends a page again over a new connection after the first was cut', async () => {
      const queue = await makeQueue();
      const { proxy, address } = await proxied();
      const checked = check(rabbitmqSink.config, { url: address, routing_key: queue });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const sink = await rabbitmqSink.open(checked.value, sinkContext());
      await sink.write(Page.ofRecords([1]), { partial: false });
      proxy.cut();
      proxy.heal();
      // The client may not have noticed yet.
      await sink.write(Page.ofRecords([2]), { partial: false }).catch(() => {});
      await sink.write(Page.ofRecords([3]), { partial: false });
      await sink.close();
      await proxy.close();
      expect((await textsIn(queue)).slice(-1)).toEqual(['3']);
    });
  });

  it('a probe says what is missing, and tells no password', async () => {
    const queue = await makeQueue();
    const probe = async (config: JsonObject): Promise<[string | undefined, string]> => {
      const env = testEnv();
      const checked = check(rabbitmqSource.config, { url: url(), max_messages: 1, ...config });
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const [finding] = (await rabbitmqSource.probe?.(checked.value, sourceContext({ env }))) ?? [];
      expect(JSON.stringify([finding, env.lines])).not.toContain('secret-word');
      return [finding?.status, finding?.reason ?? ''];
    };
    expect((await probe({ queue }))[0]).toBe('pass');
    expect((await probe({ queue: unique('new') }))[0]).toBe('pass');
    const absent = await probe({ queue: unique('new'), declare_queue: false });
    expect(absent).toEqual(['fail', expect.stringContaining('NOT_FOUND')]);
    const login = url().replace('guest:guest', 'nobody:secret-word');
    expect(await probe({ queue, url: login })).toEqual([
      'fail',
      expect.stringMatching(/ACCESS.REFUSED/),
    ]);
    expect((await probe({ queue, url: `${url()}/nowhere` }))[0]).toBe('fail');
  });
});
