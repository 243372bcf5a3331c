/** The server over real sockets: what only shows on the wire. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { LogEvent } from '../../src/runs/service/runs.ts';
import { startFixture, TOKENS, type Fixture, type FixtureOptions } from '../support/server.ts';

const open: Fixture[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ server }) => server.close()));
});

async function start(options: FixtureOptions = {}) {
  const fixture = await startFixture(options);
  open.push(fixture);
  const { address } = await fixture.server.listen('127.0.0.1', 0);
  return { ...fixture, address, port: Number(new URL(address).port) };
}

/**
 * Sends bytes as they are; resolves with everything that came back when the server closed the
 * connection.
 */
async function raw(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as unknown;
}

test.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400, 'bad_config'],
  ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 400, 'bad_config'],
  [
    'two lengths',
    'POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
    'bad_config',
  ],
  ['an invented method', 'FROB /v1/runs HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_config'],
  [
    'headers without end',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(100_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'a method nobody has',
    'PROPFIND /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    405,
    'method_not_allowed',
  ],
  [
    'an expectation that nobody knows',
    'GET /v1/nothing HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n',
    404,
    'not_found',
  ],
  ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
  ['no host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'bad_config'],
  [
    'a path of raw bytes',
    'GET /v1/runs/%ff%fe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    400,
    'bad_config',
  ],
])('%s is answered with an envelope', async (_, bytes, status, code) => {
  const { port, logged } = await start();
  const answer = await raw(port, bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(bodyOf(answer)).toMatchObject({ error: { code } });
  expect(logged).toEqual([]);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
});

test('a body that outgrows the limit while it streams is a 413 the client can read', async () => {
  const { port } = await start({ bodyLimitBytes: 1000 });
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/v1/runs',
    headers: { authorization: `Bearer ${TOKENS.admin}`, 'content-type': 'application/json' },
  });
  const answered = once(request, 'response');
  for (let sent = 0; sent < 50; sent += 1) request.write('x'.repeat(10_000));
  request.end();
  const [response] = (await answered) as [import('node:http').IncomingMessage];
  expect(response.statusCode).toBe(413);
  expect(JSON.parse(await text(response))).toMatchObject({ error: { code: 'payload_too_large' } });
});

test.each([
  ['too large', TOKENS.admin, 3_000_000, 413],
  ['of nobody', 'unknown', 900_000, 401],
])(
  'a request that is %s and ends its connection is answered when it has been sent',
  async (_, token, size, status) => {
    const { port, address } = await start();
    const socket = connect(port, '127.0.0.1');
    const answer = text(socket);
    const head =
      `POST /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`;
    await new Promise((sent) => void socket.write(`${head}{`, sent));
    // What was sent before is read before.
    await fetch(`${address}/healthz`);
    expect(socket.bytesRead).toBe(0);
    socket.write('x'.repeat(size - 1));
    expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  },
);

test('a request that ends its connection and never sends its body is answered all the same', async () => {
  const { port, clock } = await start();
  const socket = connect(port, '127.0.0.1');
  const answer = text(socket);
  const head =
    'POST /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\n';
  await new Promise((sent) => void socket.write(head, sent));
  await expect.poll(() => clock.sleeping).toBe(1);
  clock.wake();
  expect(await answer).toMatch(/^HTTP\/1.1 401 /);
});

test.each([
  ['is too large', `Bearer ${TOKENS.admin}`, 1001, 413, 'payload_too_large'],
  ['nobody may send', 'Bearer nobody', 10, 401, 'unauthorized'],
])('a body that %s is not asked for', async (_, authorization, length, status, code) => {
  const { port } = await start({ bodyLimitBytes: 1000 });
  const answer = await raw(port, held(authorization, length));
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(answer).toMatch(/^connection: close\r$/im);
  expect(bodyOf(answer)).toMatchObject({ error: { code } });
});

test('a body that waits to be asked for is, and is read', async () => {
  const { port } = await start();
  const socket = connect(port, '127.0.0.1');
  socket.write(held(`Bearer ${TOKENS.admin}`, 2));
  const [word] = (await once(socket, 'data')) as [Buffer];
  expect(word.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write('{}');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 400 [^]*config/);
  socket.destroy();
});

/** The head of a request that waits before it sends its body. */
function held(authorization: string, length: number): string {
  const fields = [
    'Host: x',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    'Expect: 100-continue',
  ];
  return `POST /v1/runs HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`;
}

test('a tunnel that was refused does not hold the server when it closes', async () => {
  const { port, server } = await start();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  await server.close();
  socket.destroy();
});

test('a raised body limit is honoured', async () => {
  const { address } = await start({ bodyLimitBytes: 8 * 1024 * 1024 });
  const post = (size: number) =>
    fetch(`${address}/v1/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKENS.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ config: 'x'.repeat(size) }),
    });
  expect((await post(3 * 1024 * 1024)).status).toBe(202);
  expect((await post(9 * 1024 * 1024)).status).toBe(413);
});

/** A live log of one line, which then waits until its signal fires. */
function liveLog() {
  const left = Promise.withResolvers<void>();
  const follow = async function* (signal: AbortSignal): AsyncGenerator<LogEvent> {
    yield { type: 'log', seq: 0, line: 'INFO headgate: pipeline run starting' };
    if (!signal.aborted) await once(signal, 'abort');
    left.resolve();
  };
  return { follow, left: left.promise };
}

const authorized = { headers: { authorization: `Bearer ${TOKENS.viewer}` } };

test('the head of a live log comes before its first event', async () => {
  const { address, script } = await start();
  script.follow = async function* (signal) {
    await once(signal, 'abort');
    yield { type: 'end' };
  };
  const response = await fetch(`${address}/v1/runs/run-1/logs`, authorized);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  await response.body?.cancel();
});

test('a reader that goes away releases its log and is counted', async () => {
  const { address, script, counted } = await start();
  const live = liveLog();
  script.follow = live.follow;
  const response = await fetch(`${address}/v1/runs/run-1/logs`, authorized);
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toBe(
    'id: 0\nevent: log\ndata: INFO headgate: pipeline run starting\n\n',
  );
  await reader?.cancel();
  await live.left;
  await expect
    .poll(() => counted.filter(({ labels }) => labels['path'] === '/v1/runs/{id}/logs'))
    .toHaveLength(2);
});

test('an open log does not hold the server when it closes', async () => {
  const { address, script, server } = await start();
  const live = liveLog();
  script.follow = live.follow;
  const response = await fetch(`${address}/v1/runs/run-1/logs`, authorized);
  await server.close();
  await live.left;
  expect(await response.text()).toContain('pipeline run starting');
  await expect(fetch(`${address}/healthz`)).rejects.toThrow('fetch failed');
});

test('a request under way when the server closes is still answered', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  const { address, server } = await start({
    metricsText: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const pending = fetch(`${address}/metrics`);
  await asked.promise;
  const closed = server.close();
  answer.resolve('svc_build_info 1\n');
  expect(await (await pending).text()).toBe('svc_build_info 1\n');
  await closed;
});

test('a port that is taken refuses the start in a sentence', async () => {
  const { port } = await start();
  const other = await startFixture();
  open.push(other);
  await expect(other.server.listen('127.0.0.1', port)).rejects.toMatchObject({
    code: 'cannot_listen',
    message: `cannot listen on 127.0.0.1:${port}: the port is in use`,
  });
});

test('the address tells the port that was taken', async () => {
  const { address, port } = await start();
  expect(address).toBe(`http://127.0.0.1:${port}`);
  expect(port).toBeGreaterThan(0);
});
