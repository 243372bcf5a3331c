import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import type { Credential, CredentialProvider } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { HttpClient, type HttpClientOptions } from './client.ts';
import { compileRules, responseRules } from './response-rules.ts';
import { NO_RETRY } from './retry.ts';

const SECRET = 'hunter2-secret';
let server: HttpServer;
let other: HttpServer;

beforeAll(async () => {
  [server, other] = await Promise.all([startHttpServer(), startHttpServer()]);
});
afterAll(() => Promise.all([server.close(), other.close()]));
beforeEach(() => {
  server.requests.length = 0;
  other.requests.length = 0;
});

const waits: number[] = [];
const clock: Clock = {
  now: () => new Date('2026-02-01T00:00:00Z'),
  elapsedMs: () => 0,
  sleep: (ms) => {
    waits.push(ms);
    return Promise.resolve();
  },
};
function login(parts: Partial<Credential>): CredentialProvider {
  const credential = { headers: {}, query: {}, ...parts };
  return { get: () => Promise.resolve(credential), invalidate: () => {} };
}
const RETRY = {
  maxRetries: 3,
  backoff: 'exponential',
  baseMs: 1000,
  maxMs: 60_000,
  jitter: false,
  on: ['http_5xx', 'rate_limited', 'connection', 'timeout'],
} as const;

function client(options: Partial<HttpClientOptions> = {}): HttpClient {
  waits.length = 0;
  return new HttpClient({
    env: testEnv({ clock }),
    signal: new AbortController().signal,
    provider: login({}),
    homes: [server.url],
    retry: NO_RETRY,
    ...options,
  });
}

/** A port on which nothing listens any more. */
async function closedPort(): Promise<number> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  listening.close();
  await once(listening, 'close');
  return port;
}

const get = (path = '/'): { method: string; url: string } => ({
  method: 'GET',
  url: `${server.url}${path}`,
});

describe('repeating', () => {
  it('repeats 5xx with growing waits, up to max_retries', async () => {
    server.respond([{ status: 500 }, { status: 502 }, { status: 200, body: 'ok' }]);
    expect((await client({ retry: RETRY }).send(get())).status).toBe(200);
    expect(waits).toEqual([1000, 2000]);
    server.respond([{ status: 503, body: 'busy' }]);
    await expect(client({ retry: RETRY }).send(get())).rejects.toMatchObject({
      kind: 'http_5xx',
      status: 503,
      message: expect.stringContaining(': busy') as string,
    });
    expect(waits).toEqual([1000, 2000, 4000]);
  });

  it('waits as long as `Retry-After` says, in seconds or as a date', async () => {
    server.respond([
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 429, headers: { 'retry-after': 'Sun, 01 Feb 2026 00:01:00 GMT' } },
      { status: 502, headers: { 'retry-after': '9' } },
      { status: 200 },
    ]);
    await client({ retry: RETRY }).send(get());
    expect(waits).toEqual([7000, 60_000, 9000]);
  });

  it('waits as ever where a wait that the service asks for is over', async () => {
    server.respond([
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 429, headers: { 'retry-after': 'Sat, 31 Jan 2026 00:00:00 GMT' } },
      { status: 429, headers: { 'retry-after': '-5' } },
      { status: 200 },
    ]);
    await client({ retry: RETRY }).send(get());
    expect(waits).toEqual([1000, 2000, 4000]);
  });

  it('repeats what failed because no login was given', async () => {
    server.respond([{ status: 200 }]);
    const busy = new ConnectorError('http_5xx', 'no token now', { retryAfterMs: 5000 });
    const answers = [busy, busy, new ConnectorError('auth', 'no such user')];
    const provider = (): CredentialProvider => ({
      get: () => {
        const failure = answers.shift();
        return failure === undefined
          ? Promise.resolve({ headers: {}, query: {} })
          : Promise.reject(failure);
      },
      invalidate: () => {},
    });
    const asking = client({ retry: RETRY, provider: provider() }).send(get());
    await expect(asking).rejects.toThrow('no such user');
    expect(waits).toEqual([5000, 5000]);
    answers.push(busy);
    expect((await client({ retry: RETRY, provider: provider() }).send(get())).status).toBe(200);
    expect(waits).toEqual([5000]);
  });

  it('gives up at once when asked to wait for longer than an hour', async () => {
    server.respond([{ status: 429, headers: { 'retry-after': '86400' } }]);
    await expect(client({ retry: RETRY }).send(get())).rejects.toMatchObject({
      kind: 'rate_limited',
      hint: expect.stringContaining('it asks to wait for 86400 s') as string,
    });
    expect(waits).toEqual([]);
  });

  it('repeats a body that breaks off and a server that is not there', async () => {
    server.respond([{ body: 'part', breaks: true }, { body: 'whole' }]);
    expect(Buffer.from((await client({ retry: RETRY }).send(get())).bytes).toString()).toBe(
      'whole',
    );
    await expect(
      client({ retry: { ...RETRY, maxRetries: 1 } }).send({
        method: 'GET',
        url: `http://127.0.0.1:${await closedPort()}/`,
      }),
    ).rejects.toMatchObject({
      kind: 'connection',
      hint: 'no server listens there; check host and port',
    });
    expect(waits).toEqual([1000]);
  });

  it('tells what the client says of a connection in plain words', async () => {
    const failure = (url: string) =>
      client({ retry: { ...RETRY, maxRetries: 0 } }).send({ method: 'GET', url });
    await expect(failure('http://127.0.0.1:6667/')).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('web clients never send to this port'),
    });
    await expect(failure('http://no-such-host.invalid/')).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringMatching(/there is no host of this name|could not be looked up/),
    });
    server.respond([{ body: 'part', breaks: true }]);
    await expect(failure(get().url)).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringContaining('the connection was closed before the answer was complete'),
    });
    server.respond([{ body: 'plain', headers: { 'content-encoding': 'gzip' } }]);
    await expect(failure(get().url)).rejects.toMatchObject({
      kind: 'data',
      message: expect.stringContaining('is not compressed as its `Content-Encoding` says'),
    });
  });

  it.each([
    [400, 'refused'],
    [401, 'auth'],
    [403, 'auth'],
    [404, 'missing'],
    [409, 'refused'],
  ])('takes %i as final', async (status, kind) => {
    server.respond([{ status }]);
    await expect(client({ retry: RETRY }).send(get())).rejects.toMatchObject({ kind, status });
    expect(server.requests).toHaveLength(1);
  });

  it('repeats answers that a rule recognises, waiting as long as they say', async () => {
    const rules = compileRules(
      responseRules().parse([
        {
          status: 400,
          body_path: '$.code',
          values: ['throttled'],
          backoff_from: '$.wait',
          max_wait_secs: 5,
        },
        { header: 'x-busy', match_success: true, backoff_secs: 2 },
      ]),
    );
    server.respond([
      { status: 400, json: { code: 'throttled', wait: 60 } },
      { headers: { 'x-busy': '1' } },
      { body: 'done' },
    ]);
    expect((await client({ retry: RETRY, rules }).send(get())).status).toBe(200);
    expect(waits).toEqual([5000, 2000]);
    server.respond([{ status: 400, json: { code: 'other' } }]);
    await expect(client({ retry: RETRY, rules }).send(get())).rejects.toMatchObject({
      kind: 'refused',
    });
  });
});

describe('logins', () => {
  it('asks for a new credential once when the old one is refused', async () => {
    const tokens = ['old', 'new', 'newer'];
    const dropped: string[] = [];
    const held: { current: Credential | undefined } = { current: undefined };
    const provider: CredentialProvider = {
      get: () => {
        held.current ??= { headers: { Authorization: `Bearer ${tokens.shift()}` }, query: {} };
        return Promise.resolve(held.current);
      },
      invalidate: (stale) => {
        dropped.push(stale.headers['Authorization'] ?? '');
        held.current = undefined;
      },
    };
    server.respond(({ headers }) => ({
      status: headers['authorization'] === 'Bearer new' ? 200 : 401,
    }));
    await client({ provider }).send(get());
    expect(dropped).toEqual(['Bearer old']);
    server.respond([{ status: 401 }]);
    await expect(client({ provider }).send(get())).rejects.toMatchObject({ kind: 'auth' });
    expect(dropped).toEqual(['Bearer old', 'Bearer new']);
  });

  it('lets the header of the credential win', async () => {
    server.respond([{}]);
    await client({
      provider: login({ headers: { 'X-Key': 'b' } }),
      headers: { 'x-key': 'a' },
    }).send(get());
    expect(server.requests[0]?.headers['x-key']).toBe('b');
  });

  it('sends a login that stands in the address as basic authentication', async () => {
    server.respond([{}]);
    const home = `http://me:${SECRET}@127.0.0.1:${server.port}`;
    await client({ homes: [home] }).send({ method: 'GET', url: `${home}/a` });
    expect(server.requests[0]?.headers['authorization']).toBe(
      `Basic ${Buffer.from(`me:${SECRET}`).toString('base64')}`,
    );
  });
});

describe('redirects', () => {
  const provider = login({
    headers: { Authorization: `Bearer ${SECRET}` },
    query: { key: SECRET },
  });

  it('keep the login on the same host', async () => {
    server.respond(({ path }) =>
      path === '/a' ? { status: 302, headers: { location: '/b' } } : {},
    );
    const answer = await client({ provider }).send(get('/a'));
    expect(server.requests[1]).toMatchObject({
      path: '/b',
      headers: { authorization: `Bearer ${SECRET}` },
    });
    expect(server.requests[1]?.query.get('key')).toBe(SECRET);
    expect(answer.url).toBe(`${server.url}/b`);
  });

  it('carry neither login nor configured headers to another host, unless it is trusted', async () => {
    server.respond([{ status: 302, headers: { location: `${other.url}/b` } }]);
    other.respond([{}]);
    await client({ provider, headers: { 'x-api-key': SECRET, accept: 'text/csv' } }).send(
      get('/a'),
    );
    expect(JSON.stringify(other.requests)).not.toContain(SECRET);
    expect(other.requests[0]?.headers['accept']).toBe('text/csv');
    await client({ provider, trustedHosts: [`127.0.0.1:${other.port}`] }).send(get('/a'));
    expect(other.requests[1]?.headers['authorization']).toBe(`Bearer ${SECRET}`);
  });

  it('do not take the body to another host', async () => {
    server.respond([{ status: 307, headers: { location: `${other.url}/b` } }]);
    await expect(
      client().send({ ...get(), method: 'POST', body: { json: { a: SECRET } } }),
    ).rejects.toMatchObject({ kind: 'refused' });
    expect(other.requests).toEqual([]);
  });

  it('turn a POST into a GET after 303, and end somewhere', async () => {
    server.respond(({ path }) =>
      path === '/' ? { status: 303, headers: { location: '/b' } } : {},
    );
    await client().send({ ...get(), method: 'POST', body: { json: 1 } });
    expect(server.requests[1]).toMatchObject({ method: 'GET', body: '' });
    server.respond([{ status: 302, headers: { location: '/' } }]);
    await expect(client().send(get())).rejects.toThrow(/redirected more than 10 times/);
  });
});

describe('failures', () => {
  it('tell that nobody answered in time', async () => {
    server.respond([{ hangs: true }]);
    await expect(client({ timeoutMs: 20 }).send(get())).rejects.toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('within 0.02 s') as string,
    });
  });

  it('end at once, with the reason, when the signal fires', async () => {
    const stop = new AbortController();
    server.respond(() => {
      stop.abort(new Error('enough'));
      return { hangs: true };
    });
    await expect(client({ signal: stop.signal }).send(get())).rejects.toThrow('enough');
  });

  it('show no secret of the address, and no more than 2048 bytes of the answer', async () => {
    server.respond([{ status: 400, body: 'x'.repeat(5000) }]);
    const provider = login({ query: { k: SECRET } });
    const url = `${server.url}/a?api_key=${SECRET}&page=2#${SECRET}`;
    const failure: string = await client({ provider })
      .send({ method: 'GET', url })
      .then(
        () => '',
        (error: unknown) => (error as Error).message,
      );
    expect(failure).toContain('/a?api_key=***&page=2 answers 400');
    expect(failure).not.toContain(SECRET);
    expect(failure.match(/x+…/)?.[0]).toHaveLength(2049);
  });

  it('hide a secret that the answer repeats', async () => {
    const env = testEnv({ clock });
    env.redactor.register(SECRET);
    server.respond([{ status: 400, body: `unknown token ${SECRET}` }]);
    await expect(client({ env }).send(get())).rejects.toThrow(/unknown token \*\*\*/);
  });
});
