/** Logins that more than a header depends on: their requests, and what they add to those of a source. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { runSource, type Run } from '../../../test/fakes/run-source.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { createCredentials, CREDENTIALS } from '../../credentials/index.ts';
import { signed } from '../../credentials/oauth1.ts';
import { Registry } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { restSource } from './index.ts';

const NOW = '2026-02-01T00:00:00Z';
const SECONDS = String(Date.parse(NOW) / 1000);
let server: HttpServer;
let other: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
  other = await startHttpServer(() => ({ json: [{ at: 'other' }] }));
});
afterAll(async () => {
  await server.close();
  await other.close();
});
beforeEach(() => {
  server.requests.length = 0;
  other.requests.length = 0;
});

async function read(type: string, config: JsonObject, more: JsonObject = {}): Promise<Run> {
  const env = testEnv({ clock: stillClock(NOW) });
  const { signal } = new AbortController();
  const logins = createCredentials(
    new Registry(CREDENTIALS),
    { a: { type, config } },
    { env, signal },
  );
  const base = { base_url: server.url, path: '/items', auth: { ref: 'a' }, max_retries: 0 };
  try {
    const context = { env, credentials: logins };
    return await runSource(restSource, { ...base, ...more }, { context });
  } catch (error) {
    throw new Error(env.redactor.text(String(error)), { cause: error });
  }
}

const flow = (config: JsonObject, more?: JsonObject) => read('flow', config, more);
const login = (more: JsonObject = {}): JsonObject => ({
  request: { method: 'POST', url: `${server.url}/login`, json: { user: 'me' } },
  capture: { token: '$.session.token' },
  ...more,
});
const bearer = { into: 'header', name: 'Authorization', value: 'Bearer ${token}' };
const paths = () => server.requests.map(({ path }) => path);
const refusals = (config: JsonObject): string[] => {
  const definition = CREDENTIALS.find(({ type }) => type === 'flow');
  const checked = definition === undefined ? undefined : check(definition.config, config);
  return checked === undefined || checked.ok ? [] : checked.issues.map(({ path }) => path);
};

describe('a flow', () => {
  it('logs in once, step by step, and each request carries what was captured', async () => {
    let pages = 0;
    server.respond(({ path }) => {
      if (path === '/start') return { json: { challenge: 'c-77' } };
      if (path === '/login') return { json: { session: { token: 't-0001' } } };
      pages += 1;
      return { json: { items: [{ page: pages }], next: pages < 2 ? 'x' : null } };
    });
    const { records } = await flow(
      {
        steps: [
          {
            request: { url: `${server.url}/start`, query: { user: 'me' }, headers: { 'X-App': 7 } },
            capture: { challenge: { from: 'json', path: '$.challenge' } },
          },
          login({
            request: {
              method: 'post',
              url: `${server.url}/login`,
              form: { user: 'me', answer: '${challenge}!' },
            },
          }),
        ],
        apply: [
          bearer,
          { into: 'query', name: 'session', value: '${token}' },
          { into: 'cookie', name: 'sid', value: '${token}' },
          { into: 'cookie', name: 'lang', value: 'en' },
        ],
      },
      {
        records_path: '$.items',
        pagination: { type: 'Cursor', next_token_path: '$.next', param_name: 'after' },
      },
    );
    expect(records).toEqual([{ page: 1 }, { page: 2 }]);
    expect(paths()).toEqual(['/start', '/login', '/items', '/items']);
    const [start, second, first, last] = server.requests;
    expect([start?.query.get('user'), start?.headers['x-app']]).toEqual(['me', '7']);
    expect([...new URLSearchParams(second?.body)]).toEqual([
      ['user', 'me'],
      ['answer', 'c-77!'],
    ]);
    for (const request of [first, last])
      expect(request?.headers).toMatchObject({
        authorization: 'Bearer t-0001',
        cookie: 'sid=t-0001; lang=en',
      });
    expect(last?.query.toString()).toBe('after=x&session=t-0001');
  });

  it('captures from headers, cookies and XML, also of a redirect', async () => {
    server.respond(({ path }): Reply => {
      if (path === '/cookie')
        return {
          status: 302,
          headers: { location: '/home', 'set-cookie': ['a=1; Path=/', 'SID=s=42; HttpOnly'] },
        };
      if (path === '/header') return { status: 200, headers: { 'X-Csrf': 'csrf-1' }, body: '' };
      if (path === '/xml') return { body: '<e:R xmlns:e="u"><e:Key id="7">k-9</e:Key></e:R>' };
      return { json: [] };
    });
    const step = (path: string, capture: JsonObject): JsonObject => ({
      request: { url: `${server.url}${path}` },
      capture,
    });
    await flow({
      steps: [
        step('/cookie', { sid: { from: 'set_cookie', name: 'SID' } }),
        step('/header', { csrf: { from: 'header', name: 'x-csrf' } }),
        step('/xml', { key: { from: 'xml', path: 'R.Key' } }),
      ],
      apply: [{ into: 'header', name: 'X-All', value: '${sid}|${csrf}|${key}' }],
    });
    expect(server.requests.at(-1)?.headers['x-all']).toBe('s=42|csrf-1|k-9');
  });

  it('signs each request anew, with one time and nonce for all of it', async () => {
    server.respond(() => ({ json: [] }));
    const sign = { alg: 'hmac_sha256', key: 's3cr3t-key', template: '${ts}.${nonce}' };
    const headers = async (more: JsonObject): Promise<Readonly<Record<string, string>>> => {
      await flow({
        apply: [
          { sign: { ...sign, into: { header: 'X-Sig', format: 'v1=${sig}' }, ...more } },
          { into: 'header', name: 'X-Ts', value: '${ts}' },
          { into: 'header', name: 'X-Nonce', value: '${nonce}' },
        ],
      });
      return server.requests.at(-1)?.headers ?? {};
    };
    for (const encoding of ['hex', 'base64'] as const) {
      const seen = await headers({ encoding });
      expect(seen['x-ts']).toBe(SECONDS);
      const expected = createHmac('sha256', 's3cr3t-key')
        .update(`${SECONDS}.${seen['x-nonce']}`)
        .digest(encoding);
      expect(seen['x-sig']).toBe(`v1=${expected}`);
    }
    const nonces = server.requests.map((request) => request.headers['x-nonce']);
    expect(new Set(nonces).size).toBe(2);
  });

  it('signs the requests of its steps, with what was captured before as the key', async () => {
    server.respond(({ path }) =>
      path === '/key' ? { json: { key: 'k-11' } } : { json: { session: { token: 't-1' } } },
    );
    const sign = { key: '${key}', template: 'fixed', into: { header: 'X-Sig' } };
    await flow({
      steps: [
        { request: { url: `${server.url}/key` }, capture: { key: '$.key' } },
        login({ request: { url: `${server.url}/login`, sign } }),
      ],
      apply: [bearer],
    });
    expect(server.requests[1]?.headers['x-sig']).toBe(
      createHmac('sha256', 'k-11').update('fixed').digest('hex'),
    );
  });

  it('places values in the JSON body, and nowhere where there is none', async () => {
    server.respond(({ path }) =>
      path === '/login' ? { json: { session: { token: 't-2' } } } : { json: [] },
    );
    const config = {
      steps: [login()],
      apply: [{ into: 'body', name: '/auth/token', value: '${token}' }],
    };
    await flow(config, { method: 'POST', body: { a: 1, auth: { kind: 'x' } } });
    await flow(config, { method: 'POST' });
    expect(
      server.requests.filter(({ path }) => path === '/items').map((one) => one.json()),
    ).toEqual([{ a: 1, auth: { kind: 'x', token: 't-2' } }, { auth: { token: 't-2' } }]);
    await expect(flow(config)).rejects.toThrow(/belongs into the body/);
  });

  it('logs in again where the status says so, once', async () => {
    let logins = 0;
    server.respond(({ path, headers }) => {
      if (path === '/login') return { json: { session: { token: `t-${(logins += 1)}` } } };
      return headers['authorization'] === 'Bearer t-2' ? { json: [{ ok: true }] } : { status: 419 };
    });
    const config = { steps: [login()], apply: [bearer], reauth_on: [419] };
    expect((await flow(config)).records).toEqual([{ ok: true }]);
    expect(paths()).toEqual(['/login', '/items', '/login', '/items']);
    await expect(flow({ ...config, reauth_on: null })).rejects.toThrow(/419/);
  });

  it('reads from the address that the login tells, and its pages too', async () => {
    server.respond(() => ({ json: { session: { token: 't-1' }, host: `${other.url}/v9/` } }));
    let page = 0;
    other.respond(() => {
      page += 1;
      const next = page === 1 ? `${other.url}/v9/items?page=2` : null;
      return { json: { items: [{ page }], next } };
    });
    const { records } = await flow(
      {
        steps: [login({ capture: { token: '$.session.token', host: '$.host' } })],
        apply: [bearer],
        base_url_from: 'host',
      },
      {
        records_path: '$.items',
        pagination: { type: 'NextLinkInBody', next_link_path: '$.next' },
      },
    );
    expect(records).toEqual([{ page: 1 }, { page: 2 }]);
    expect(other.requests.map((one) => [one.path, one.headers['authorization']])).toEqual([
      ['/v9/items', 'Bearer t-1'],
      ['/v9/items', 'Bearer t-1'],
    ]);
  });

  it('ends with its own error where it captures nothing or is refused, without a secret', async () => {
    server.respond([{ json: { session: {} } }]);
    const config = { steps: [login()], apply: [bearer] };
    await expect(flow(config)).rejects.toThrow(/has no value for `token`/);
    server.respond([{ status: 403, body: 'bad s3cret-pass' }]);
    const request = {
      method: 'POST',
      url: `${server.url}/login`,
      json: { password: 's3cret-pass' },
    };
    const failed = await flow({ steps: [login({ request })], apply: [bearer] }).catch(
      (error: unknown) => String(error),
    );
    expect(failed).toContain('answers 403: bad ***');
  });

  it('does not send its values to hosts that the document does not name', async () => {
    server.respond(({ path }) =>
      path === '/login'
        ? { json: { session: { token: 't-1' } } }
        : { status: 302, headers: { location: `${other.url}/away` } },
    );
    await flow({
      steps: [login()],
      apply: [bearer, { into: 'query', name: 'q', value: '${token}' }],
    });
    expect(JSON.stringify(other.requests.map(({ headers }) => headers))).not.toContain('t-1');
    expect(other.requests.map(({ query }) => query.toString())).toEqual(['']);
  });

  it('does not load with a name without a value, without effect, or with half a capture', () => {
    const request = { url: 'https://x.test/login' };
    expect(refusals({ steps: [{ request }], apply: [bearer] })).toEqual(['apply[0].value']);
    expect(refusals({})).toEqual(['apply']);
    expect(refusals({ steps: [{ request, capture: { token: '$.t' } }] })).toEqual(['apply']);
    expect(
      refusals({ apply: [{ into: 'body', name: 'a', value: 'b' }], base_url_from: 'h' }),
    ).toEqual(['base_url_from']);
    const capture = (value: unknown) => ({
      steps: [{ request, capture: { token: value } }],
      apply: [bearer],
    });
    expect(refusals(capture('$.t') as JsonObject)).toEqual([]);
    expect(refusals(capture('$[') as JsonObject)).toEqual(['steps[0].capture.token.path']);
    expect(refusals(capture({ from: 'header' }) as JsonObject)).toEqual([
      'steps[0].capture.token.name',
    ]);
    const form = { ...request, form: { a: 'b' } };
    expect(
      refusals({
        ...capture('$.t'),
        steps: [{ request: form, capture: { token: '$.t' } }],
      }),
    ).toEqual(['steps[0].request.form']);
    const later = { url: 'https://x.test/${token}' };
    expect(
      refusals({ steps: [{ request: later, capture: { token: '$.t' } }], apply: [bearer] }),
    ).toEqual(['steps[0].request.url']);
  });
});

describe('oauth1', () => {
  const config = {
    consumer_key: 'dpf43f3p2l4k3l03',
    consumer_secret: 'kd94hf93k423kf44',
    token: 'nnch734d00sl2jdk',
    token_secret: 'pfkkdhi9sl3r4s00',
  };
  const valueIn = (header: string, name: string): string =>
    decodeURIComponent(new RegExp(`${name}="([^"]*)"`).exec(header)?.[1] ?? '');

  it('signs as RFC 5849 says (a value worked out by another implementation)', () => {
    const url = 'http://photos.example.net/photos?size=original&file=va+cation!.jpg';
    const now = new Date(137_131_202_000);
    const header = signed(
      { ...config, signature_method: 'HMAC-SHA256', realm: 'Photos' },
      { method: 'get', url },
      { now, nonce: 'chapoH' },
    );
    expect(header).toMatch(/^OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", /);
    expect(valueIn(header, 'oauth_signature')).toBe('MBhQSvIaNzYSnEz6JHIPqv5KN6uCqdyOkOYAbz2cEP8=');
  });

  it('signs the request as it is sent, each page and each repeat anew', async () => {
    server.respond([
      { status: 503 },
      { json: { items: [{ id: 1 }], next: 'a b' } },
      { json: { items: [{ id: 2 }] } },
    ]);
    const { records } = await read('oauth1', config, {
      max_retries: 1,
      query_params: { q: 'x y' },
      records_path: '$.items',
      pagination: { type: 'Cursor', next_token_path: '$.next', param_name: 'after' },
    });
    expect(records).toEqual([{ id: 1 }, { id: 2 }]);
    const nonces = server.requests.map(({ path, query, headers }) => {
      const header = headers['authorization'] ?? '';
      const nonce = valueIn(header, 'oauth_nonce');
      const now = new Date(Number(valueIn(header, 'oauth_timestamp')) * 1000);
      const url = `${server.url}${path}?${query.toString()}`;
      expect(header).toBe(
        signed(
          { ...config, signature_method: 'HMAC-SHA256' },
          { method: 'GET', url },
          { now, nonce },
        ),
      );
      return nonce;
    });
    expect(new Set(nonces).size).toBe(3);
    expect(server.requests.at(-1)?.query.get('after')).toBe('a b');
  });
});
