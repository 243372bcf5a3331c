/**
 * Credentials that end in the middle of a run: a token that can be renewed is, and nobody notices; any
 * other fails the run at once, says what to do, and shows no secret. The next run completes it.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentOfTree } from '../../src/document/load.ts';
import { execute } from '../../src/engine/execute.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { parts } from '../../src/parts.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import type { OutcomeError } from '../../src/wire/outcome.ts';
import { testEnv } from '../fakes/env.ts';
import {
  startHttpServer,
  type HttpServer,
  type Reply,
  type SeenRequest,
} from '../fakes/http-server.ts';
import { startFakeS3 } from '../fakes/s3-server.ts';
import { freshMariadb, mariadbOrReason } from '../servers/mariadb.ts';
import { freshDatabase } from '../servers/postgres.ts';
import { redisOrReason } from '../servers/redis.ts';
import { sourceFixtures } from './fixtures/fixtures-of.ts';

const SECRET = 'tok3n-that-nobody-sees';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-expired-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(pipeline: JsonObject): Promise<OutcomeError | undefined> {
  const document = documentOfTree({ version: 1, name: 'expired', pipeline });
  const outcome = await execute({
    plan: planDocument(document, parts, { cpus: 1 }),
    parts,
    env: testEnv(),
    runId: 'expired',
    clock: new Date(),
    signal: new AbortController().signal,
  });
  return outcome.invocations[0]?.error ?? outcome.error ?? undefined;
}

const jsonl = (): JsonObject => ({ type: 'jsonl', config: { path: join(folder, 'out.jsonl') } });
const lines = (): readonly string[] =>
  readFileSync(join(folder, 'out.jsonl'), 'utf8').split('\n').toSorted();

/** A door in front of a server, which only lets those through who have the token of the day. */
class Door implements AsyncDisposable {
  /** Requests that were let through. */
  passed = 0;
  tokens = 0;
  refused = 0;
  /** With this request on, the first token is no good any more. */
  ends = Infinity;
  status: 401 | 403 = 401;
  readonly #server: HttpServer;
  readonly #target: string;

  private constructor(server: HttpServer, target: string) {
    this.#server = server;
    this.#target = target;
    server.respond((request) => this.#answer(request));
  }

  static async before(target: string): Promise<Door> {
    return new Door(await startHttpServer(), target);
  }

  get url(): string {
    return this.#server.url;
  }

  async #answer(request: SeenRequest): Promise<Reply> {
    if (request.path === '/token-of-the-door') {
      this.tokens += 1;
      return { json: { access_token: `${SECRET}-${this.tokens}`, expires_in: 3600 } };
    }
    const good = this.passed >= this.ends ? `${SECRET}-2` : `${SECRET}-1`;
    if (request.headers['authorization'] !== `Bearer ${good}`) {
      this.refused += 1;
      return {
        status: this.status,
        json: { error: `${request.headers['authorization']} is not valid` },
      };
    }
    this.passed += 1;
    const {
      authorization: _,
      host: __,
      'content-length': ___,
      connection: ____,
      ...headers
    } = request.headers;
    const search = request.query.size === 0 ? '' : `?${request.query.toString()}`;
    const answer = await fetch(`${this.#target}${request.path}${search}`, {
      method: request.method,
      headers: { ...headers, 'accept-encoding': 'identity' },
      ...(request.body === '' ? {} : { body: request.body }),
    });
    const {
      'content-encoding': _e,
      'content-length': _l,
      'transfer-encoding': _t,
      connection: _c,
      ...told
    } = Object.fromEntries(answer.headers);
    return {
      status: answer.status,
      headers: told,
      body: new Uint8Array(await answer.arrayBuffer()),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+/;

/** The config by the door, and the door. */
async function doorBefore(config: JsonObject): Promise<readonly [Door, JsonObject]> {
  const text = JSON.stringify(config);
  const target = ADDRESS.exec(text)?.[0];
  assert.ok(target !== undefined, 'the config names no server');
  const door = await Door.before(target);
  return [door, JSON.parse(text.replaceAll(target, door.url)) as JsonObject];
}

const bearer: JsonObject = { type: 'bearer', config: { token: `${SECRET}-1` } };
const renewed = (door: Door): JsonObject => ({
  type: 'oauth2',
  config: {
    token_url: `${door.url}/token-of-the-door`,
    client_id: 'me',
    client_secret: `${SECRET}-c`,
  },
});

function expectTold(error: OutcomeError | undefined, code: string): void {
  expect(error).toMatchObject({ code });
  expect(JSON.stringify(error)).not.toContain(SECRET);
  expect(error?.hint ?? '', 'what to do').toMatch(/\w+ \w+/);
}

describe.each(['rest', 'graphql', 'xml'])('source %s', (type) => {
  it('goes on with a new token, and fails where there is none', async () => {
    const all = (await sourceFixtures()).filter(([definition]) => definition.type === type);
    let tried = 0;
    for (const [, fixture] of all) {
      await fixture.start?.();
      const [door, config] = await doorBefore(await fixture.config());
      await using _ = door;
      const move = (auth: JsonValue) =>
        run({ source: { type, config: { ...config, auth } }, sink: jsonl() });
      expect(await move(bearer)).toBeUndefined();
      const [expected, requests] = [lines(), door.passed];
      if (requests > 1) {
        tried += 1;
        const half = Math.floor(requests / 2);
        Object.assign(door, { passed: 0, ends: half });
        expect(await move(renewed(door))).toBeUndefined();
        expect(lines()).toEqual(expected);
        expect({ tokens: door.tokens, refused: door.refused }).toEqual({ tokens: 2, refused: 1 });
        for (const status of [401, 403] as const) {
          Object.assign(door, { passed: 0, ends: half, refused: 0, status });
          expectTold(await move(bearer), 'connector_auth');
          expect(door.refused).toBeLessThanOrEqual(2);
        }
        Object.assign(door, { passed: 0, ends: Infinity });
        expect(await move(bearer)).toBeUndefined();
        expect(lines()).toEqual(expected);
      }
      await fixture.stop?.();
      if (tried === 2) break;
    }
    expect(tried).toBeGreaterThan(0);
  }, 120_000);
});

describe('sink http', () => {
  it('goes on with a new token, and fails where there is none', async () => {
    const ids = [1, 2, 3, 4, 5, 6];
    const path = join(folder, 'in.jsonl');
    writeFileSync(path, ids.map((id) => `${JSON.stringify({ id })}\n`).join(''));
    const taken: unknown[] = [];
    await using server = await startHttpServer((request) => {
      taken.push((request.json() as JsonObject)['id']);
      return { status: 200 };
    });
    await using door = await Door.before(server.url);
    const move = (auth: JsonValue) =>
      run({
        source: { type: 'jsonl', config: { path } },
        sink: { type: 'http', config: { url: `${door.url}/in`, auth } },
      });
    door.ends = 3;
    expect(await move(renewed(door))).toBeUndefined();
    expect(new Set(taken)).toEqual(new Set(ids));
    expect(taken).toHaveLength(ids.length);
    expect(door.tokens).toBe(2);
    for (const status of [401, 403] as const) {
      Object.assign(door, { passed: 0, status });
      expectTold(await move(bearer), 'connector_auth');
    }
  });
});

it('source s3: credentials that expire after the first object', async () => {
  const store = await startFakeS3();
  for (const key of ['in/a.jsonl', 'in/b.jsonl']) store.put('b', key, `{"key":"${key}"}\n`);
  const source = {
    type: 's3',
    config: {
      bucket: 'b',
      prefix: 'in/',
      file_format: 'json_lines',
      endpoint_url: store.url,
      credentials: {
        type: 'access_key',
        config: { access_key_id: 'id', secret_access_key: SECRET, session_token: `${SECRET}-s` },
      },
    },
  };
  store.fail(({ key }) =>
    key === 'in/b.jsonl' ? { status: 403, code: 'ExpiredToken' } : undefined,
  );
  expectTold(await run({ source, sink: jsonl() }), 'connector_auth');
  expect(store.requests.filter(({ key }) => key === 'in/b.jsonl')).toHaveLength(1);
  store.fail(() => undefined);
  expect(await run({ source, sink: jsonl() })).toBeUndefined();
  expect(lines()).toHaveLength(3);
  await store.close();
});

/** A login of a database, whose password can be changed. */
interface Login {
  readonly source: JsonObject;
  change(password: string): Promise<void>;
  end(): Promise<void>;
}

async function postgresLogin(): Promise<Login> {
  const database = await freshDatabase();
  const { url } = database;
  const admin = new Client({ connectionString: url });
  await admin.connect();
  const role = `r${process.pid}`;
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD '${SECRET}'`);
  const own = new URL(url);
  Object.assign(own, { username: role, password: SECRET });
  return {
    source: { type: 'postgres', config: { connection_url: own.href, query: 'SELECT 1 AS id' } },
    change: async (password) =>
      void (await admin.query(`ALTER ROLE ${role} PASSWORD '${password}'`)),
    async end() {
      await admin.query(`DROP ROLE ${role}`);
      await admin.end();
      await database.drop();
    },
  };
}

async function mariadbLogin(): Promise<Login> {
  const database = await freshMariadb();
  const { url, client } = database;
  const user = `u${process.pid}`;
  await client.query(`CREATE USER ${user} IDENTIFIED BY '${SECRET}'`);
  const own = new URL(url);
  Object.assign(own, { username: user, password: SECRET, pathname: '' });
  return {
    source: { type: 'mysql', config: { connection_url: own.href, query: 'SELECT 1 AS id' } },
    change: async (password) =>
      void (await client.query(`ALTER USER ${user} IDENTIFIED BY '${password}'`)),
    async end() {
      await client.query(`DROP USER ${user}`);
      await database.drop();
    },
  };
}

async function redisLogin(): Promise<Login> {
  const found = redisOrReason();
  if (found.reason !== undefined) throw new Error(found.reason);
  const server = await found.start();
  const admin = new Redis(server.url);
  await admin.rpush('list', '{"id":1}');
  const set = (password: string) =>
    admin.call('ACL', 'SETUSER', 'mover', 'on', 'resetpass', `>${password}`, '~*', '+@all');
  await set(SECRET);
  const own = new URL(server.url);
  Object.assign(own, { username: 'mover', password: SECRET });
  return {
    source: {
      type: 'redis',
      config: { url: own.href, source_type: { type: 'List', key: 'list' } },
    },
    change: async (password) => void (await set(password)),
    async end() {
      admin.disconnect();
      await server.stop();
    },
  };
}

describe.each([
  ['postgres', postgresLogin, undefined],
  ['mysql', mariadbLogin, mariadbOrReason().reason],
  ['redis', redisLogin, redisOrReason().reason],
])('source %s', (_type, loginOf, missing) => {
  it.skipIf(missing !== undefined)(
    'is told that its password was changed',
    async () => {
      const login = await loginOf();
      const move = () => run({ source: login.source, sink: jsonl() });
      expect(await move()).toBeUndefined();
      await login.change('another');
      expectTold(await move(), 'connector_auth');
      await login.change(SECRET);
      expect(await move()).toBeUndefined();
      await login.end();
    },
    120_000,
  );
});
