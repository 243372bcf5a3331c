import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import {
  startWebsocketServer,
  type FakeWebsocketServer,
} from '../../../test/fakes/websocket-server.ts';
import type { SourceContext } from '../../kit/context.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { connect } from './connection.ts';
import { websocketSource } from './index.ts';

const servers: FakeWebsocketServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

type Talk = (
  socket: WebSocket,
  connection: number,
  headers: NodeJS.Dict<string | string[]>,
) => void;

async function serverThat(talk: Talk): Promise<string> {
  let connections = 0;
  const server = await startWebsocketServer((socket, { headers }) =>
    talk(socket, (connections += 1), headers),
  );
  servers.push(server);
  return server.url;
}

async function read(
  config: JsonObject,
  context: Partial<SourceContext> = {},
): Promise<JsonValue[]> {
  const checked = check(websocketSource.config, { idle_timeout: 10, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = testEnv({ clock: systemClock });
  const source = await websocketSource.open(checked.value, sourceContext({ env, ...context }));
  const pages = await readAll(source);
  return pages.flatMap((page) => [...page.records()]);
}

function sends(...messages: readonly (string | Uint8Array)[]): Talk {
  return (socket) => {
    for (const message of messages) socket.send(message);
    socket.close(1000);
  };
}

test.each([
  ['json', ['1.50', '{"a":null}'], ['1.50', '{"a":null}']],
  ['raw_string', ['{', 'ä'], ['"{"', '"ä"']],
  ['binary', [Uint8Array.of(0, 255), 'a'], ['"AP8="', '"YQ=="']],
])('a message is read as %s', async (message_format, messages, records) => {
  const url = await serverThat(sends(...messages));
  const found = await read({ url, message_format });
  expect(found.map((record) => JSON.stringify(record))).toEqual(
    records.map((text) => JSON.stringify(JSON.parse(text))),
  );
});

test.each(['json', 'raw_string'])(
  'what is not %s is passed over when it may be',
  async (message_format) => {
    const url = await serverThat(sends(Uint8Array.of(255), '"a"'));
    await expect(read({ url, message_format })).rejects.toMatchObject({ kind: 'data' });
    expect(await read({ url, message_format, on_parse_error: 'skip' })).toHaveLength(1);
  },
);

test('an envelope says when a message came, and from where', async () => {
  const url = await serverThat(sends('{"a":1}'));
  const [record] = await read({ url: `${url}/feed?token=hunter2-secret`, envelope: true });
  expect(record).toEqual({ data: { a: 1 }, received_at: expect.any(String), url: `${url}/feed` });
});

test('a lost connection is made again, and greeted again', async () => {
  const greetings: string[] = [];
  const url = await serverThat((socket, connection) => {
    socket.on('message', (data) => {
      greetings.push(`${connection} ${(data as Buffer).toString()}`);
      if (greetings.length < 2 * connection) return;
      if (connection < 3) socket.terminate();
      else socket.close(1000);
    });
    socket.send(String(connection));
  });
  const config = { url, subscribe_messages: ['a', 'b'], reconnect: true, reconnect_backoff: 0.01 };
  expect(await read({ ...config, max_reconnect_attempts: 1 })).toEqual([1, 2, 3]);
  expect(greetings).toEqual(['1 a', '1 b', '2 a', '2 b', '3 a', '3 b']);
});

test('attempts without a message are counted, and the last one fails the run', async () => {
  let connections = 0;
  const url = await serverThat((socket, connection) => {
    connections = connection;
    socket.close(1013, 'later');
  });
  const config = { url, reconnect: true, reconnect_backoff: 0, max_reconnect_attempts: 2 };
  await expect(read(config)).rejects.toThrow(/code 1013: later/);
  expect(connections).toBe(3);
});

test('without `reconnect` a connection that breaks fails the run', async () => {
  const url = await serverThat((socket) => socket.terminate());
  await expect(read({ url })).rejects.toMatchObject({
    kind: 'connection',
    hint: expect.stringContaining('reconnect: true') as string,
  });
});

test('a server that closes without a code ends the run, or is connected to again', async () => {
  const url = await serverThat((socket, connection) => {
    socket.send(`${connection}`);
    socket.close(...(connection === 3 ? [1000] : []));
  });
  expect(await read({ url })).toEqual([1]);
  expect(await read({ url, reconnect: true, reconnect_backoff: 0 })).toEqual([2, 3]);
});

test('silence ends the read, and a server that was never reached fails it', async () => {
  const url = await serverThat((socket) => socket.send('1'));
  expect(await read({ url, idle_timeout: 0.3 })).toEqual([1]);
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const config = { reconnect: true, reconnect_backoff: 0.05, idle_timeout: 0.3 };
  await expect(read({ url: `ws://127.0.0.1:${port}`, ...config })).rejects.toMatchObject({
    kind: 'connection',
  });
});

test('pings keep a silent connection going', async () => {
  let pings = 0;
  const url = await serverThat((socket) => {
    socket.on('ping', () => (pings += 1));
    setTimeout(() => sends('1')(socket, 1, {}), 700);
  });
  expect(await read({ url, idle_timeout: 0.4, ping_interval: 0.1 })).toEqual([1]);
  expect(pings).toBeGreaterThan(2);
});

test('a server that answers to no ping is lost, and one that answers late is not', async () => {
  const wss = new WebSocketServer({ host: '127.0.0.1', port: 0, autoPong: false });
  let pings = 0;
  wss.on('connection', (socket) =>
    socket.on('ping', () => {
      pings += 1;
      if (pings % 5 === 0 && pings < 21) socket.pong();
    }),
  );
  await once(wss, 'listening');
  const connection = await connect({
    url: `ws://127.0.0.1:${(wss.address() as AddressInfo).port}`,
    headers: {},
    maxMessageBytes: 100,
    greetings: [],
    reconnects: false,
    pingMs: 20,
    silentMs: 200,
    onMessage: () => {},
    onFrame: () => {},
  });
  expect(await connection.ended()).toMatchObject({
    kind: 'timeout',
    message: expect.stringContaining('answered to none of 10 pings') as string,
  });
  expect(pings).toBe(30);
  wss.close();
});

test('the login is sent with the handshake, and a refused one is told', async () => {
  let seen: unknown;
  const url = await serverThat((socket, _connection, { authorization }) => {
    seen = authorization;
    sends('1')(socket, 1, {});
  });
  const headers = { authorization: 'Bearer abc' };
  const get = () => Promise.resolve({ headers, query: {} });
  const credentials = { resolve: () => ({ get, invalidate: () => {} }) };
  await read({ url }, { credentials });
  expect(seen).toBe('Bearer abc');
  const closed = createServer((_request, response) => response.writeHead(401).end());
  closed.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'));
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  const config = { url: `ws://127.0.0.1:${port}`, reconnect: true };
  await expect(read(config)).rejects.toMatchObject({ kind: 'auth', status: 401 });
  closed.close();
});

test('a protocol that a header asks for is agreed on with the server', async () => {
  const url = await serverThat((socket) => sends(JSON.stringify(socket.protocol))(socket, 1, {}));
  const headers = { 'Sec-WebSocket-Protocol': 'graphql-transport-ws, other' };
  const get = () => Promise.resolve({ headers, query: {} });
  const credentials = { resolve: () => ({ get, invalidate: () => {} }) };
  expect(await read({ url }, { credentials })).toEqual(['graphql-transport-ws']);
});

test('a login that has expired meanwhile is renewed, and refused again it is told', async () => {
  let [good, isClosed] = [1, false];
  const seen: unknown[] = [];
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    verifyClient: ({ req }: { req: IncomingMessage }) => {
      seen.push(req.headers.authorization);
      return !isClosed && req.headers.authorization === `Bearer ${good}`;
    },
  });
  server.on('connection', (socket) => {
    socket.send(`${good}`);
    // Its end comes with a new token: the old one is not taken any more.
    good += 1;
    socket.close(good < 4 ? 1012 : 1000);
  });
  await once(server, 'listening');
  let [asked, token] = [0, 1];
  let held: { readonly headers: { readonly authorization: string } } | undefined;
  const credentials = {
    resolve: () => ({
      get: () => {
        asked += 1;
        held ??= { headers: { authorization: `Bearer ${token}` } };
        return Promise.resolve({ ...held, query: {} });
      },
      invalidate: () => {
        held = undefined;
        token = good;
      },
    }),
  };
  const { port } = server.address() as AddressInfo;
  const config = { url: `ws://127.0.0.1:${port}`, reconnect: true, reconnect_backoff: 0 };
  expect(await read({ ...config, max_reconnect_attempts: 1 }, { credentials })).toEqual([1, 2, 3]);
  expect(seen).toEqual(['1', '1', '2', '2', '3'].map((one) => `Bearer ${one}`));
  expect(asked).toBe(5);
  isClosed = true;
  await expect(read(config, { credentials })).rejects.toMatchObject({ kind: 'auth', status: 401 });
  server.close();
});

test('a message beyond the bound ends the run', async () => {
  const url = await serverThat(sends('"0123456789"'));
  await expect(read({ url, max_message_bytes: 10, reconnect: true })).rejects.toMatchObject({
    kind: 'data',
    hint: expect.stringContaining('max_message_bytes') as string,
  });
});

test('a slow reader holds the server back, and loses nothing', async () => {
  const text = JSON.stringify('x'.repeat(10_000));
  let sent = 0;
  const url = await serverThat((socket) => {
    const more = (): void => {
      if (sent === 3000) return socket.close(1000);
      sent += 1;
      socket.send(text, () => setImmediate(more));
    };
    more();
  });
  const checked = check(websocketSource.config, { url, idle_timeout: 10 });
  if (!checked.ok) throw new Error('the config is wrong');
  const env = testEnv({ clock: systemClock });
  const context = sourceContext({ env, pageBytes: 100_000 });
  const source = await websocketSource.open(checked.value, context);
  let count = 0;
  let early = 0;
  for await (const page of source.pages({ lane: { form: 'records' } })) {
    if (count === 0) {
      await systemClock.sleep(1000);
      early = sent;
    }
    count += [...page.records()].length;
  }
  expect(count).toBe(3000);
  expect(early).toBeLessThan(3000);
}, 20_000);

test('the address is filled from the parent record', async () => {
  const url = await serverThat(sends('1'));
  expect(await read({ url: `${url}/{id}` }, { parent: { id: 'a/b' } })).toEqual([1]);
  await expect(read({ url: `${url}/{id}` })).rejects.toThrow(/`\{id\}`/);
  await expect(read({ url: 'ws://{host}/' }, { parent: { host: 'a b' } })).rejects.toMatchObject({
    kind: 'refused',
    hint: expect.stringContaining('`url`') as string,
  });
});

test.each([
  ['neither end', { idle_timeout: null }, 'missing_key'],
  ['a page of everything', { idle_timeout: 1, batch_size: 0 }, 'invalid_value'],
  ['another address', { url: 'http://h', max_messages: 1 }, 'invalid_value'],
  ['an address with a fragment', { url: 'ws://h/#a', max_messages: 1 }, 'invalid_value'],
  ['a port that is none', { url: 'ws://h:99999/', max_messages: 1 }, 'invalid_value'],
  ['no host', { url: 'ws://', max_messages: 1 }, 'invalid_value'],
])('%s is refused', (_what, config, code) => {
  expect(check(websocketSource.config, { url: 'ws://h', ...config })).toMatchObject({
    ok: false,
    issues: [{ code }],
  });
});
