import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { connectAsync, type MqttClient } from 'mqtt';
import { generate, parser, type Packet } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  acknowledgedBy,
  client,
  makeSession,
  missing,
  send,
  start,
  stop,
  unique,
  url,
} from '../../../test/conformance/fixtures/mqtt.ts';
import { sinkContext, sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { tcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { CERTIFICATES, tlsProxy } from '../../../test/fakes/tls-proxy.ts';
import { startMosquitto, type MosquittoServer } from '../../../test/servers/mosquitto.ts';
import type { SourceContext } from '../../kit/context.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mqttSink, mqttSource } from './index.ts';

const LONG = 60_000;
const VERSIONS = ['5', '3.1.1'] as const;

async function opened(config: JsonObject, context: Partial<SourceContext> = {}): Promise<Source> {
  const checked = check(mqttSource.config, { url: url(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return mqttSource.open(checked.value, sourceContext(context));
}

interface ReadResult {
  readonly records: readonly JsonValue[];
  readonly pages: readonly Page[];
  readonly env: TestEnv;
}

async function read(
  config: JsonObject,
  {
    acknowledges = true,
    rejects = false,
    bookmark,
    onPage,
  }: {
    readonly acknowledges?: boolean;
    readonly rejects?: boolean;
    readonly bookmark?: JsonValue | undefined;
    readonly onPage?: (page: Page) => Promise<void> | void;
  } = {},
): Promise<ReadResult> {
  const env = testEnv();
  const source = await opened(config, { env });
  const pages: Page[] = [];
  try {
    const from = bookmark === undefined ? {} : { bookmark };
    for await (const page of source.pages({ lane: RECORDS_LANE, rejects, ...from })) {
      pages.push(page);
      await onPage?.(page);
      if (acknowledges && page.bookmark !== undefined) await source.acknowledge?.(page.bookmark);
    }
  } finally {
    await source.close();
  }
  return { records: pages.flatMap((page) => [...page.records()]), pages, env };
}

async function write(config: JsonObject, records: readonly JsonValue[]): Promise<void> {
  const checked = check(mqttSink.config, { url: url(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await mqttSink.open(checked.value, sinkContext());
  try {
    await sink.write(Page.ofRecords(records), { partial: false });
  } finally {
    await sink.close();
  }
}

/** A topic, and a session that keeps what is sent to it. */
async function kept(more: Parameters<typeof makeSession>[1] = {}) {
  const topic = unique('t');
  const config = { topics: [topic], client_id: await makeSession([topic], more) };
  return { topic, config };
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

describe.skipIf(missing !== undefined)(`mqtt ${missing ?? ''}`, { timeout: LONG }, () => {
  beforeAll(start, LONG);
  afterAll(stop);

  describe.each(VERSIONS)('a session of MQTT %s', (version) => {
    const of = { version: version === '5' ? 5 : 4 } as const;
    const more = { protocol_version: version };

    it('gives again what was not acknowledged, and nothing that was', async () => {
      const { topic, config } = await kept(of);
      await send(topic, numbers(1, 6));
      const source = await opened({ ...config, ...more, batch_size: 2, idle_timeout_secs: 60 });
      for await (const { bookmark = null } of source.pages({ lane: RECORDS_LANE })) {
        await source.acknowledge?.(bookmark);
        break;
      }
      await source.close();
      const { records } = await read({ ...config, ...more, max_messages: 3 });
      expect(records).toEqual([3, 4, 5]);
      const rest = await read({ ...config, ...more, idle_timeout_secs: 0.3 });
      expect(rest.records).toEqual([]);
    });

    it('that was never there begins with the first run, and keeps what comes between two', async () => {
      const topic = unique('t');
      const config = { topics: [topic], client_id: unique('c'), ...more };
      expect((await read({ ...config, idle_timeout_secs: 0.2 })).records).toEqual([]);
      await send(topic, [1, 2]);
      expect((await read({ ...config, max_messages: 2 })).records).toEqual([1, 2]);
    });

    it('that the server has lost between two runs is told', async () => {
      const config = { topics: [unique('t')], client_id: unique('c'), ...more };
      const warnings = async (bookmark: JsonValue | undefined): Promise<JsonValue[]> => {
        const { env } = await read({ ...config, idle_timeout_secs: 0.2 }, { bookmark });
        return env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);
      };
      expect(await warnings(undefined)).toEqual([]);
      expect(await warnings({ delivered: 2 })).toEqual([]);
      await read({ ...config, clean_start: true, idle_timeout_secs: 0.2 });
      expect(await warnings({ delivered: 2 })).toEqual([
        expect.stringContaining('the server has lost the session'),
      ]);
    });

    it('whose connection is lost goes on, and loses nothing', async () => {
      const { topic, config } = await kept(of);
      await send(topic, numbers(0, 50));
      const { port, hostname: host } = new URL(url());
      const proxy = await tcpProxy({ host, port: Number(port) });
      const address = `mqtt://127.0.0.1:${proxy.port}`;
      let pages = 0;
      const { records } = await read(
        { ...config, ...more, url: address, batch_size: 10, max_messages: 50 },
        {
          async onPage() {
            pages += 1;
            if (pages !== 2) return;
            proxy.cut();
            proxy.heal();
            // By the time that others were answered, the source knows that its connection is gone.
            await send(unique('other'), [1, 2]);
          },
        },
      );
      await proxy.close();
      expect(records).toEqual(numbers(0, 50));
      const rest = await read({ ...config, ...more, idle_timeout_secs: 0.3 });
      expect(rest.records).toEqual([]);
    });

    it('reads retained messages once, at each run, or never', async () => {
      const topic = unique('kept');
      await client().publishAsync(topic, '1', { qos: 1, retain: true });
      const run = async (retained: string, id: string): Promise<readonly JsonValue[]> => {
        const config = { topics: [topic], client_id: id, retained_messages: retained, ...more };
        return (await read({ ...config, idle_timeout_secs: 0.3 })).records;
      };
      const [a, b, c] = [unique('a'), unique('b'), unique('c')];
      expect([await run('new', a), await run('new', a)]).toEqual([[1], []]);
      expect([await run('read', b), await run('read', b)]).toEqual([[1], [1]]);
      expect([await run('skip', c), await run('skip', c)]).toEqual([[], []]);
      await send(topic, [2]);
      expect(await run('skip', c)).toEqual([2]);
    });

    it('of quality 2 gives each message, and ends what it has acknowledged', async () => {
      const { topic, config } = await kept({ ...of, qos: 2 });
      await send(topic, numbers(0, 30));
      const few: JsonObject = version === '5' ? { receive_maximum: 10 } : {};
      const two = { ...config, ...more, ...few, qos: 2, batch_size: 7 };
      expect((await read({ ...two, max_messages: 30 })).records).toEqual(numbers(0, 30));
      expect(acknowledgedBy(config.client_id)).toBe(30);
      expect((await read({ ...two, idle_timeout_secs: 0.3 })).records).toEqual([]);
    });
  });

  it('a server that sends few messages at a time is read to the end', async () => {
    const small = await startMosquitto({ settings: 'max_inflight_messages 20' });
    const config = { url: small.url, topics: ['t'], client_id: 'c' };
    try {
      for (const version of VERSIONS) {
        const own = { ...config, protocol_version: version };
        await read({ ...own, idle_timeout_secs: 0.1 });
        await write({ url: small.url, topic: 't' }, numbers(0, 100));
        expect((await read({ ...own, max_messages: 100 })).records).toEqual(numbers(0, 100));
      }
    } finally {
      await small.stop();
    }
  });

  it('without a session reads what is sent meanwhile', async () => {
    for (const more of [{ qos: 0 }, { clean_start: true }] as JsonObject[]) {
      const topic = unique('t');
      const source = await opened({ topics: [topic], ...more, max_messages: 3 });
      expect(Reflect.get(source, 'acknowledge')).toBeUndefined();
      const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
      const first = pages.next();
      const sending = setInterval(() => void send(topic, [7]), 50);
      const found: JsonValue[] = [];
      for (let next = await first; next.done !== true; next = await pages.next()) {
        expect(next.value.bookmark).toBeUndefined();
        found.push(...next.value.records());
      }
      clearInterval(sending);
      await source.close();
      expect(found).toEqual([7, 7, 7]);
    }
  });

  it('tells where a message comes from, and what it carries', async () => {
    const topic = unique('a');
    const id = await makeSession([`${topic}/+/b`]);
    await client().publishAsync(`${topic}/x/b`, '{"v":1}', {
      qos: 1,
      properties: {
        contentType: 'application/json',
        responseTopic: 'answers',
        correlationData: Buffer.from([0, 255]),
        userProperties: { a: '1', b: ['2', '3'] },
        messageExpiryInterval: 3600,
      },
    });
    const config = { topics: [`${topic}/+/b`], client_id: id, include_metadata: true };
    const { records } = await read({ ...config, max_messages: 1 });
    expect(records).toEqual([
      {
        data: { v: 1 },
        topic: `${topic}/x/b`,
        qos: 1,
        retain: false,
        duplicate: false,
        content_type: 'application/json',
        response_topic: 'answers',
        correlation_data: 'AP8=',
        message_expiry_secs: expect.any(Number) as number,
        user_properties: { a: '1', b: ['2', '3'] },
      },
    ]);
  });

  it('shares the messages of a group among its readers', async () => {
    const topic = unique('t');
    const group = `$share/g/${topic}`;
    const ids = [await makeSession([group]), await makeSession([group])];
    await send(topic, numbers(0, 10));
    const found: JsonValue[] = [];
    for (const id of ids) {
      const config = { topics: group, client_id: id, idle_timeout_secs: 0.3 };
      found.push(...(await read(config)).records);
    }
    expect(found.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers(0, 10));
  });

  it('does with a payload that cannot be decoded as it is told', async () => {
    const bad = Buffer.from([255]);
    const make = async () => {
      const { topic, config } = await kept();
      await send(topic, [1, bad, 2]);
      return { ...config, max_messages: 3 };
    };
    await expect(read(await make())).rejects.toMatchObject({ kind: 'data' });
    expect((await read({ ...(await make()), on_decode_error: 'skip' })).records).toEqual([1, 2]);
    const dead = await read({ ...(await make()), on_decode_error: 'dlq' }, { rejects: true });
    expect(dead.pages.flatMap(({ rejected }) => rejected ?? [])).toHaveLength(1);
    const bytes = await read({ ...(await make()), value_format: 'bytes' });
    expect(bytes.records).toEqual(['MQ==', '/w==', 'Mg==']);
  });

  describe('a sink', () => {
    const heard = async (topic: string, work: () => Promise<void>) => {
      const reader: MqttClient = await connectAsync(url(), { protocolVersion: 5 });
      const found: { topic: string; payload: string; packet: JsonObject }[] = [];
      const isEnd = Promise.withResolvers<void>();
      reader.on('message', (from, payload, packet) => {
        if (from === `${topic}/end`) isEnd.resolve();
        else found.push({ topic: from, payload: payload.toString(), packet: packet as never });
      });
      await reader.subscribeAsync(`${topic}/#`, { qos: 2, rap: true });
      await work();
      await client().publishAsync(`${topic}/end`, 'x', { qos: 2 });
      await isEnd.promise;
      await reader.endAsync();
      return found;
    };

    it('publishes to the topic of a record, with what each message carries', async () => {
      const topic = unique('out');
      const config = {
        topic: `${topic}/usual`,
        topic_field: 'to',
        qos: 2,
        retain: true,
        message_expiry_secs: 600,
        user_properties: { from: 'headgate', version: 3 },
      };
      const records: JsonObject[] = [{ id: 1, to: `${topic}/own` }, { id: 2 }];
      const found = await heard(topic, () => write(config, records));
      expect(found.map((one) => [one.topic, one.payload])).toEqual([
        [`${topic}/own`, `{"id":1,"to":"${topic}/own"}`],
        [`${topic}/usual`, '{"id":2}'],
      ]);
      expect(found[0]?.packet).toMatchObject({
        qos: 2,
        retain: true,
        properties: {
          contentType: 'application/json',
          payloadFormatIndicator: true,
          messageExpiryInterval: 600,
          userProperties: { from: 'headgate', version: '3' },
        },
      });
    });

    it('writes texts and bytes as they are', async () => {
      const topic = unique('out');
      const found = await heard(topic, async () => {
        await write({ topic: `${topic}/t`, value_format: 'string' }, ['a text', { a: 1 }]);
        await write({ topic: `${topic}/b`, value_format: 'bytes', qos: 0 }, ['aGk=']);
      });
      expect(found.map(({ payload }) => payload)).toEqual(['a text', '{"a":1}', 'hi']);
    });

    it('publishes nothing of a page with a record that has no place', async () => {
      const topic = unique('out');
      const found = await heard(topic, async () => {
        const config = { topic: `${topic}/x`, topic_field: 'to' };
        for (const to of ['a/+', '', 5])
          await expect(write(config, [{ id: 1 }, { to }])).rejects.toMatchObject({ kind: 'data' });
        const bytes = { topic: `${topic}/x`, value_format: 'bytes' };
        await expect(write(bytes, ['aGk=', 'no base64'])).rejects.toMatchObject({ kind: 'data' });
      });
      expect(found).toEqual([]);
    });

    it('publishes more than is on its way at once, in order', async () => {
      const topic = unique('out');
      const many = numbers(0, 3000);
      const found = await heard(topic, () => write({ topic: `${topic}/n`, batch_size: 0 }, many));
      expect(found.map(({ payload }) => Number(payload))).toEqual(many);
    });

    it('that lost its connection fails the page, and publishes the next', async () => {
      const { port, hostname: host } = new URL(url());
      const proxy = await tcpProxy({ host, port: Number(port) });
      const config = { url: `mqtt://127.0.0.1:${proxy.port}`, topic: unique('out') };
      const checked = check(mqttSink.config, config);
      if (!checked.ok) throw new Error('no config');
      const sink = await mqttSink.open(checked.value, sinkContext());
      const page = (): Page => Page.ofRecords([1]);
      await sink.write(page(), { partial: false });
      proxy.cut();
      await expect(sink.write(page(), { partial: false })).rejects.toMatchObject({
        kind: 'connection',
      });
      proxy.heal();
      expect((await sink.write(page(), { partial: false })).written).toBe(1);
      await sink.close();
      await proxy.close();
    });
  });

  describe('a server with users', () => {
    let guarded: MosquittoServer;
    beforeAll(async () => {
      const salt = randomBytes(12);
      const key = pbkdf2Sync('open sesame', salt, 101, 64, 'sha512');
      guarded = await startMosquitto({
        allowAnonymous: false,
        settings: 'password_file users\nacl_file rights\nmax_packet_size 5000',
        files: {
          users: `loader:$7$101$${salt.toString('base64')}$${key.toString('base64')}\n`,
          rights: 'user loader\ntopic readwrite open/#\n',
        },
      });
    }, LONG);
    afterAll(() => guarded.stop());

    const login = { username: 'loader', password: 'open sesame' };
    const at = (more: JsonObject) => ({ url: guarded.url, ...more });

    it.each(VERSIONS)(
      'is spoken to with a login, in fields or in the address (%s)',
      async (version) => {
        const own = { protocol_version: version };
        await write(at({ ...own, ...login, topic: 'open/x' }), [1]);
        const inUrl = guarded.url.replace('//', '//loader:open%20sesame@');
        await write({ ...own, url: inUrl, topic: 'open/x' }, [1]);
        for (const wrong of [{}, { ...login, password: 'guess-secret' }]) {
          const failed = write(at({ ...own, ...wrong, topic: 'open/x' }), [1]);
          await expect(failed).rejects.toMatchObject({
            kind: 'auth',
            hint: expect.stringContaining('password') as string,
            message: expect.not.stringContaining('guess-secret') as string,
          });
        }
      },
    );

    it('that forbids a topic fails the page', async () => {
      await expect(write(at({ ...login, topic: 'closed/x' }), [1])).rejects.toMatchObject({
        kind: 'auth',
      });
    });

    it('that takes no long messages is not sent any', async () => {
      const long = write(at({ ...login, topic: 'open/x' }), ['x', 'x'.repeat(6000)]);
      await expect(long).rejects.toMatchObject({ kind: 'data', record: 1 });
    });

    it('is looked at by the doctor', async () => {
      const probe = async (more: JsonObject) => {
        const checked = check(mqttSink.config, at({ topic: 'open/x', ...more }));
        if (!checked.ok) throw new Error('no config');
        const [found] = (await mqttSink.probe?.(checked.value, sinkContext())) ?? [];
        return `${found?.name} ${found?.status}`;
      };
      expect(await probe(login)).toBe('connect pass');
      expect(await probe({})).toBe('connect fail');
    });
  });

  /** A server that answers each packet as it is told. */
  const answering = async (answerTo: (packet: Packet) => readonly Packet[]) => {
    const fake = createServer((socket) => {
      const reading = parser();
      reading.on('packet', (packet) => {
        for (const answer of answerTo(packet))
          socket.write(generate(answer, { protocolVersion: 5 }));
      });
      socket.on('data', (bytes: Buffer) => reading.parse(bytes)).on('error', () => {});
    });
    fake.listen(0, '127.0.0.1');
    await once(fake, 'listening');
    return { fake, address: `mqtt://127.0.0.1:${(fake.address() as AddressInfo).port}` };
  };
  const welcome: Packet = { cmd: 'connack', sessionPresent: false, reasonCode: 0 };

  it.each([
    [135, 'auth', /`b` cannot be read: not authorized/],
    [0, 'refused', /`b` cannot be read: the server grants it with quality 0 only/],
  ])('a topic that the server answers with %i ends the run', async (code, kind, message) => {
    const { fake, address } = await answering(({ cmd, messageId = 0 }) =>
      cmd === 'connect'
        ? [welcome]
        : cmd === 'subscribe'
          ? [{ cmd: 'suback', messageId, granted: [1, code] }]
          : [],
    );
    const config = { url: address, topics: ['a', 'b'], client_id: 'c', max_messages: 1 };
    await expect(read(config)).rejects.toMatchObject({
      kind,
      message: expect.stringMatching(message) as string,
    });
    fake.close();
  });

  it('a server that says goodbye is believed', async () => {
    const { fake, address } = await answering(({ cmd, messageId = 0 }) =>
      cmd === 'connect'
        ? [welcome]
        : cmd === 'subscribe'
          ? [
              { cmd: 'suback', messageId, granted: [1] },
              { cmd: 'disconnect', reasonCode: 142 },
            ]
          : [],
    );
    const config = { url: address, topics: ['a'], client_id: 'c', max_messages: 1 };
    await expect(read(config)).rejects.toMatchObject({
      kind: 'refused',
      hint: 'give each reader a `client_id` of its own',
    });
    fake.close();
  });

  describe('connections', () => {
    let server: MosquittoServer;
    beforeAll(async () => {
      server = await startMosquitto();
    }, LONG);
    afterAll(() => server.stop());

    it('are encrypted where the authority is known, and refused where it is not', async () => {
      const plain = await tlsProxy(server.port);
      const web = await tlsProxy(server.webPort);
      const tls = { ca_path: CERTIFICATES.ca };
      const secure = `mqtts://127.0.0.1:${plain.port}`;
      await write({ url: secure, topic: 'x', tls }, [1]);
      await write({ url: secure.replace('mqtts', 'mqtt'), topic: 'x', tls }, [1]);
      await write({ url: `wss://127.0.0.1:${web.port}/mqtt`, topic: 'x', tls }, [1]);
      for (const address of [secure, `wss://127.0.0.1:${web.port}/mqtt`])
        await expect(write({ url: address, topic: 'x' }, [1])).rejects.toMatchObject({
          kind: 'refused',
          hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
        });
      const other = { ...tls, server_name: 'other.example.com' };
      await expect(write({ url: secure, topic: 'x', tls: other }, [1])).rejects.toMatchObject({
        kind: 'refused',
      });
      await plain.close();
      await web.close();
    });

    it('go through WebSocket, both ways', async () => {
      const address = `ws://127.0.0.1:${server.webPort}/mqtt`;
      const config = { url: address, topics: ['w'], client_id: 'web' };
      await read({ ...config, idle_timeout_secs: 0.1 });
      await write({ url: address, topic: 'w' }, numbers(0, 20));
      expect((await read({ ...config, max_messages: 20 })).records).toEqual(numbers(0, 20));
    });

    it('to something that says nothing end after a time, and are not waited for when cancelled', async () => {
      const proxy = await tcpProxy({ host: '127.0.0.1', port: server.port });
      proxy.freeze();
      const stopping = new AbortController();
      const source = await opened(
        { url: `mqtt://127.0.0.1:${proxy.port}`, topics: ['x'], qos: 0, max_messages: 1 },
        { signal: stopping.signal },
      );
      const first = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]().next();
      first.catch(() => {});
      stopping.abort(new Error('enough'));
      await expect(first).rejects.toThrow('enough');
      await source.close();
      await proxy.close();
    });
  });
});
