import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itIsWellDefined } from '../../test/conformance/definition.ts';
import { testEnv, type TestEnv } from '../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../test/fakes/http-server.ts';
import type { Credentials } from '../kit/context.ts';
import { Registry } from '../kit/parts.ts';
import type { Clock } from '../lib/time/clock.ts';
import { ConfigError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { createCredentials, CREDENTIALS, type DeclaredLogins } from './index.ts';

let server: HttpServer;
let nowMs = 0;
const clock: Clock = {
  now: () => new Date(nowMs),
  elapsedMs: () => nowMs,
  sleep: () => Promise.resolve(),
};

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  nowMs = 0;
});

function logins(declared: DeclaredLogins, env: TestEnv = testEnv({ clock })): Credentials {
  return createCredentials(new Registry(CREDENTIALS), declared, {
    env,
    signal: new AbortController().signal,
  });
}

function countTokens(extra: JsonObject = {}): void {
  let count = 0;
  server.respond(() => {
    count += 1;
    return { json: { access_token: `token-${count}`, ...extra } };
  });
}

const oauth2 = (more: JsonObject = {}): DeclaredLogins => ({
  crm: {
    type: 'oauth2',
    config: { token_url: `${server.url}/token`, client_id: 'me', client_secret: 's3cret', ...more },
  },
});
const header = async (
  of: Credentials,
  auth: JsonObject = { ref: 'crm' },
): Promise<string | undefined> => (await of.resolve(auth).get()).headers['authorization'];

function refusal(act: () => unknown): {
  readonly code: string;
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
} {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError && error.issues[0] !== undefined) return error.issues[0];
    throw error;
  }
  throw new Error('nothing was refused');
}

for (const definition of CREDENTIALS) {
  describe(`the login ${definition.type}`, () => {
    itIsWellDefined(definition);
  });
}

describe('static', () => {
  const of = (config: JsonObject): Promise<unknown> =>
    logins({ a: { type: 'static', config } })
      .resolve({ ref: 'a' })
      .get();

  it('is a bearer token, a header, or a user with a password', async () => {
    expect(await of({ token: 'abcd' })).toEqual({
      token: 'abcd',
      headers: { authorization: 'Bearer abcd' },
      query: {},
    });
    expect(await of({ header: 'X-Key', value: 'abcd' })).toMatchObject({
      headers: { 'X-Key': 'abcd' },
    });
    expect(await of({ username: 'u', password: 'p:w' })).toMatchObject({
      headers: { authorization: 'Basic dTpwOnc=' },
    });
  });

  it('is refused when it says nothing, two things, or half of one', () => {
    for (const config of [
      {},
      { token: 'a', header: 'b', value: 'c' },
      { header: 'b' },
      { password: 'p' },
    ] as JsonObject[]) {
      expect(refusal(() => logins({ a: { type: 'static', config } })).path).toMatch(
        /^auth\.a\.config/,
      );
    }
  });
});

describe('oauth2', () => {
  it('asks with a form, and everybody waits for the same token', async () => {
    countTokens({ expires_in: 3600 });
    const shared = logins(oauth2({ scopes: ['a', 'b'] }));
    expect(server.requests).toEqual([]);
    expect(await Promise.all([header(shared), header(shared), header(shared)])).toEqual(
      Array(3).fill('Bearer token-1'),
    );
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(server.requests[0]?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'me',
      client_secret: 's3cret',
      scope: 'a b',
    });
  });

  it('renews a token after the given part of its lifetime, and never without one', async () => {
    countTokens({ expires_in: '100' });
    const shared = logins(oauth2({ expiry_ratio: 0.5 }));
    await header(shared);
    nowMs = 49_999;
    expect(await header(shared)).toBe('Bearer token-1');
    nowMs = 50_000;
    expect(await header(shared)).toBe('Bearer token-2');
    countTokens();
    const forever = logins(oauth2());
    await header(forever);
    nowMs = 1e12;
    expect(await header(forever)).toBe('Bearer token-1');
  });

  it('drops a refused token only while it is still the one held', async () => {
    countTokens();
    const provider = logins(oauth2()).resolve({ ref: 'crm' });
    const first = await provider.get();
    provider.invalidate(first);
    const second = await provider.get();
    provider.invalidate(first);
    expect(await provider.get()).toBe(second);
    expect(server.requests).toHaveLength(2);
  });

  it('hides what it got and what it sent', async () => {
    countTokens();
    const env = testEnv({ clock });
    await header(logins(oauth2(), env));
    expect(env.redactor.text('token-1 s3cret')).toBe('*** ***');
  });

  it('tells why there is no token, without the secret', async () => {
    const env = testEnv({ clock });
    server.respond([{ status: 401, body: 'bad client s3cret' }]);
    await expect(header(logins(oauth2(), env))).rejects.toMatchObject({
      kind: 'auth',
      status: 401,
      message: expect.stringContaining('bad client ***') as string,
    });
    server.respond([{ json: {} }]);
    await expect(header(logins(oauth2()))).rejects.toMatchObject({
      kind: 'auth',
      message: expect.stringContaining('without `access_token`') as string,
    });
    server.respond([{ body: '<html>' }]);
    await expect(header(logins(oauth2()))).rejects.toThrow(/does not answer with JSON/);
    server.respond([{ status: 307, headers: { location: 'http://127.0.0.1:1/' } }]);
    await expect(header(logins(oauth2()))).rejects.toThrow(/answers with a redirect/);
    server.respond([{ status: 503 }]);
    await expect(header(logins(oauth2()))).rejects.toMatchObject({ kind: 'http_5xx' });
  });

  it('lets one caller leave without ending the wait of the others', async () => {
    let answer: (() => void) | undefined;
    server.respond(async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return { json: { access_token: 'late' } };
    });
    const provider = logins(oauth2()).resolve({ ref: 'crm' });
    const leaving = new AbortController();
    const left = provider.get(leaving.signal);
    const stays = provider.get();
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await expect.poll(() => answer).toBeDefined();
    answer?.();
    expect((await stays).token).toBe('late');
  });
});

describe('oauth2_refresh', () => {
  const refresh = (more: JsonObject = {}): DeclaredLogins => ({
    crm: {
      type: 'oauth2_refresh',
      config: {
        token_url: `${server.url}/token`,
        client_id: 'me',
        client_secret: 's3cret',
        refresh_token: 'seed',
        ...more,
      },
    },
  });
  const sent = (): (string | null)[] =>
    server.requests.map(({ body }) => new URLSearchParams(body).get('refresh_token'));

  function rotate(): void {
    let count = 0;
    server.respond(() => {
      count += 1;
      return {
        json: {
          access_token: `access-${count}`,
          refresh_token: `refresh-${count}`,
          expires_in: 10,
        },
      };
    });
  }

  it('goes on with the refresh token the server gave last', async () => {
    rotate();
    const shared = logins(refresh());
    await header(shared);
    nowMs = 9000;
    expect(await header(shared)).toBe('Bearer access-2');
    expect(sent()).toEqual(['seed', 'refresh-1']);
  });

  it('keeps a replaced token for the next process, readable by nobody else', async () => {
    rotate();
    const folder = await mkdtemp(join(tmpdir(), 'headgate-'));
    const path = join(folder, 'state', 'login.json');
    const two = {
      ...refresh({ persist: { path, key: 'a' } }),
      erp: refresh({ persist: { path, key: 'b' } })['crm'] ?? { type: '', config: {} },
    };
    const shared = logins(two);
    await Promise.all([header(shared), header(shared, { ref: 'erp' })]);
    expect(Object.keys(JSON.parse(await readFile(path, 'utf8')) as object).sort()).toEqual([
      'a',
      'b',
    ]);
    expect((await stat(path)).mode & 0o077).toBe(0);
    expect(await readdir(join(folder, 'state'))).toEqual(['login.json']);
    server.requests.length = 0;
    await header(logins(refresh({ persist: { path, key: 'a' } })));
    expect(sent()).not.toEqual(['seed']);
  });

  it('names the entry after its endpoint and client when it is given no name', async () => {
    rotate();
    const path = join(await mkdtemp(join(tmpdir(), 'headgate-')), 'login.json');
    await header(logins(refresh({ persist: { path } })));
    await header(logins(refresh({ persist: { path }, client_id: 'another' })));
    const names = Object.keys(JSON.parse(await readFile(path, 'utf8')) as object);
    expect(names).toEqual([
      expect.stringMatching(/^oauth2_refresh_[0-9a-f]{16}$/),
      expect.stringMatching(/^oauth2_refresh_[0-9a-f]{16}$/),
    ]);
    expect(new Set(names).size).toBe(2);
  });

  it('warns and starts from the document when the kept token cannot be read', async () => {
    rotate();
    const path = join(await mkdtemp(join(tmpdir(), 'headgate-')), 'login.json');
    await writeFile(path, 'not json');
    const env = testEnv({ clock });
    expect(await header(logins(refresh({ persist: { path } }), env))).toBe('Bearer access-1');
    expect(sent()).toEqual(['seed']);
    expect(env.lines.map(({ level }) => level)).toEqual(['WARN', 'WARN']);
    expect(await readFile(path, 'utf8')).toBe('not json');
  });
});

describe('token_endpoint', () => {
  const endpoint = (more: JsonObject = {}): DeclaredLogins => ({
    crm: {
      type: 'token_endpoint',
      config: {
        url: `${server.url}/login`,
        body: { password: 'hunter2', n: 1 },
        token_path: '$.data.token',
        ...more,
      },
    },
  });

  it('sends JSON or a form, and places the token as told', async () => {
    server.respond([{ json: { data: { token: 'tok$&en', ttl: 10 } } }]);
    expect(await header(logins(endpoint()))).toBe('Bearer tok$&en');
    expect(server.requests[0]?.json()).toEqual({ password: 'hunter2', n: 1 });
    const form = logins(
      endpoint({
        encoding: 'form',
        method: 'put',
        apply_as: { header: 'X-Session', template: 'S {token}' },
      }),
    );
    expect((await form.resolve({ ref: 'crm' }).get()).headers).toEqual({
      'X-Session': 'S tok$&en',
    });
    expect(server.requests[1]).toMatchObject({ method: 'PUT', body: 'password=hunter2&n=1' });
  });

  it('renews by the lifetime at expiry_path', async () => {
    server.respond([
      { json: { data: { token: 'one', ttl: 10 } } },
      { json: { data: { token: 'two', ttl: 10 } } },
    ]);
    const shared = logins(endpoint({ expiry_path: '$.data.ttl' }));
    await header(shared);
    nowMs = 9000;
    expect(await header(shared)).toBe('Bearer two');
  });

  it('names the path where no text stands', async () => {
    server.respond([{ json: { data: { token: 5 } } }]);
    await expect(header(logins(endpoint()))).rejects.toMatchObject({
      kind: 'auth',
      message: expect.stringContaining('does not hold a text at `$.data.token`') as string,
    });
  });

  it('is refused with a form body that is no mapping, or a template without its token', () => {
    expect(refusal(() => logins(endpoint({ encoding: 'form', body: [1] }))).path).toBe(
      'auth.crm.config.body',
    );
    expect(refusal(() => logins(endpoint({ apply_as: { header: 'a', template: 'b' } }))).path).toBe(
      'auth.crm.config.apply_as.template',
    );
    expect(refusal(() => logins(endpoint({ token_path: '$.[' }))).path).toBe(
      'auth.crm.config.token_path',
    );
  });
});

describe('resolving', () => {
  it('gives everybody who names a login the same provider', () => {
    const shared = logins(oauth2());
    expect(shared.resolve({ ref: 'crm' })).toBe(shared.resolve({ ref: 'crm' }));
  });

  it.each<[string, JsonObject | undefined, JsonObject]>([
    ['nothing', undefined, { headers: {}, query: {} }],
    ['none', { type: 'none' }, { headers: {}, query: {} }],
    [
      'bearer',
      { type: 'bearer', config: { token: 'abcd' } },
      { token: 'abcd', headers: { authorization: 'Bearer abcd' }, query: {} },
    ],
    [
      'basic',
      { type: 'basic', config: { username: 'u', password: '' } },
      { headers: { authorization: 'Basic dTo=' }, query: {} },
    ],
    [
      'api_key',
      { type: 'api_key', config: { header: 'X-K', value: 'abcd' } },
      { headers: { 'X-K': 'abcd' }, query: {} },
    ],
    [
      'api_key_query',
      { type: 'api_key_query', config: { param: 'k', value: 'a b+c' } },
      { token: 'a b+c', headers: {}, query: { k: 'a b+c' } },
    ],
    [
      'custom',
      { type: 'custom', config: { headers: { A: '1', B: '2' } } },
      { headers: { A: '1', B: '2' }, query: {} },
    ],
  ])('reads an inline %s', async (_type, auth, credential) => {
    expect(await logins({}).resolve(auth).get()).toEqual(credential);
  });

  it('reads an inline oauth2 and token_endpoint', async () => {
    countTokens();
    expect(
      await header(logins({}), { type: 'oauth2', config: oauth2()['crm']?.config ?? {} }),
    ).toBe('Bearer token-1');
    expect(
      await header(logins({}), {
        type: 'token_endpoint',
        config: { url: server.url, token_path: '$.access_token' },
      }),
    ).toBe('Bearer token-2');
  });

  it('refuses what it cannot read, and says what to do', () => {
    const shared = logins(oauth2());
    expect(refusal(() => shared.resolve({ ref: 'crn' }))).toMatchObject({
      code: 'unknown_auth',
      hint: 'did you mean `crm`?',
    });
    expect(refusal(() => logins({}).resolve({ ref: 'crm' })).hint).toContain(
      'top-level `auth` block',
    );
    expect(
      refusal(() => shared.resolve({ ref: 'crm', type: 'bearer', config: {} })).hint,
    ).toContain('remove `type`, `config`');
    expect(refusal(() => shared.resolve({ type: 'bearr', config: {} })).hint).toBe(
      'did you mean `bearer`?',
    );
    expect(refusal(() => shared.resolve({ type: 'oauth2_refresh', config: {} })).hint).toContain(
      '`auth: {ref: <name>}`',
    );
    expect(refusal(() => shared.resolve({ type: 'bearer', token: 'abcd' })).hint).toContain(
      'under `config`',
    );
    expect(
      refusal(() => shared.resolve({ type: 'bearer', config: { tokn: 'abcd' } })).path,
    ).toMatch(/^auth\.config/);
  });

  it('builds every declared login, used or not, and names the bad ones', () => {
    expect(refusal(() => logins({ x: { type: 'oauth3', config: {} } }))).toMatchObject({
      code: 'unknown_type',
      path: 'auth.x.type',
    });
    expect(refusal(() => logins(oauth2({ token_url: 'ftp://x' })))).toMatchObject({
      path: 'auth.crm.config.token_url',
    });
    expect(refusal(() => logins(oauth2({ expiry_ratio: 0 })))).toMatchObject({
      code: 'out_of_range',
    });
  });
});
