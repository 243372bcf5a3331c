import { readFileSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  startGrpcServer,
  type Call,
  type FakeGrpcServer,
} from '../../../test/fakes/grpc-server.ts';
import { issuesOf, runSource, type RunOptions } from '../../../test/fakes/run-source.ts';
import { CERTIFICATES } from '../../../test/fakes/tls-proxy.ts';
import type { Credential } from '../../kit/context.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { createCredentials, CREDENTIALS } from '../../credentials/index.ts';
import { Registry } from '../../kit/parts.ts';
import { grpcSource } from './index.ts';

let server: FakeGrpcServer;
beforeAll(async () => {
  server = await startGrpcServer();
});
afterAll(() => server.close());
afterEach(() => {
  server.answers = {};
});

const base = (more: JsonObject): JsonObject => ({
  endpoint: server.url,
  service_name: 'shop.v1.Orders',
  method_name: 'List',
  descriptor_set_path: server.descriptors,
  ...more,
});
const list = (more: JsonObject = {}, options: RunOptions = {}) =>
  runSource(grpcSource, base({ records_path: '$.orders[*]', ...more }), options);
const watch = (more: JsonObject = {}, options: RunOptions = {}) =>
  runSource(
    grpcSource,
    base({ method_name: 'Watch', rpc_kind: 'server_streaming', include_defaults: false, ...more }),
    options,
  );
const failing = (code: number, details = 'no') =>
  Object.assign(new Error(details), { code, details });
const one = { orderId: '7', v: 'x' };

describe('a unary method', () => {
  it('gets the request as the message that its JSON says', async () => {
    const seen: JsonObject[] = [];
    server.answers = {
      list: (request) => {
        seen.push(request);
        return { orders: [] };
      },
    };
    await list({
      request: {
        page_size: 5,
        since: '2026-02-01T00:00:00Z',
        above: 2n ** 60n,
        note: 'only these',
      },
    });
    expect(seen[0]).toMatchObject({
      pageSize: 5,
      since: { seconds: 1_769_904_000n },
      above: 2n ** 60n,
      note: 'only these',
    });
  });

  it('refuses a field that the message does not have, and a value of another type', async () => {
    await expect(list({ request: { pagesize: 5 } })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('pagesize') as string,
    });
    await expect(list({ request: { page_size: 'many' } })).rejects.toMatchObject({
      kind: 'refused',
    });
  });

  it('gives the whole answer where there is no path, and its defaults where they are wanted', async () => {
    server.answers = { list: () => ({ orders: [one] }) };
    const bare = await list({ records_path: null, include_defaults: false });
    expect(bare.records).toEqual([{ orders: [one] }]);
    expect((await list()).records).toEqual([
      { orderId: '7', v: 'x', half: 0, raw: '', state: 'STATE_UNSPECIFIED', tags: [], counts: {} },
    ]);
  });

  it('is called again where the server was away, and not where it refuses', async () => {
    let left = 2;
    server.answers = {
      list: () => {
        left -= 1;
        if (left >= 0) throw failing(14);
        return { orders: [one] };
      },
    };
    const { records, waits } = await list();
    expect(records).toHaveLength(1);
    expect(waits).toHaveLength(2);
    let calls = 0;
    server.answers = {
      list: () => {
        calls += 1;
        throw failing(3, 'page_size is too large');
      },
    };
    await expect(list()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('page_size is too large') as string,
    });
    expect(calls).toBe(1);
  });

  it.each([
    [4, 'timeout'],
    [5, 'missing'],
    [7, 'auth'],
    [8, 'rate_limited'],
    [12, 'missing'],
    [13, 'http_5xx'],
    [15, 'data'],
    [16, 'auth'],
  ])('that ends with status %i fails as %s', async (code, kind) => {
    server.answers = { list: () => Promise.reject(failing(code)) };
    await expect(list()).rejects.toMatchObject({ kind });
  });

  it('has a deadline, which the server is told', async () => {
    let deadline: unknown;
    server.answers = {
      list: (_request, call) => {
        deadline = call.getDeadline();
        return { orders: [] };
      },
    };
    const before = Date.now();
    await list({ timeout: 60 });
    expect(Number(deadline) - before).toBeGreaterThan(50_000);
    expect(Number(deadline) - Date.now()).toBeLessThanOrEqual(60_000);
    server.answers = { list: () => new Promise(() => {}) };
    const retry = {
      maxAttempts: 1,
      backoff: 'none',
      baseMs: 0,
      maxMs: 0,
      jitter: false,
      on: [],
    } as const;
    await expect(list({ timeout: 0.2 }, { context: { retry } })).rejects.toMatchObject({
      kind: 'timeout',
      hint: expect.stringContaining('timeout') as string,
    });
  });

  it('takes and sends no longer messages than it may', async () => {
    server.answers = { list: () => ({ orders: [{ v: 'x'.repeat(2000) }] }) };
    await expect(list({ max_decoding_message_size: 1000 })).rejects.toMatchObject({
      kind: 'data',
      hint: 'raise `max_decoding_message_size`',
    });
    await expect(
      list({ max_encoding_message_size: 1000, request: { note: 'x'.repeat(2000) } }),
    ).rejects.toMatchObject({ kind: 'refused', hint: 'raise `max_encoding_message_size`' });
    const mib = 1024 * 1024;
    server.answers = { list: () => ({ orders: [{ v: 'x'.repeat(5 * mib) }] }) };
    await expect(list()).rejects.toMatchObject({ kind: 'data' });
    expect((await list({ max_decoding_message_size: 6 * mib })).records).toHaveLength(1);
  });
});

describe('the file of descriptors', () => {
  it.each<[string, () => JsonObject, RegExp, string]>([
    [
      'is not there',
      () => ({ descriptor_set_path: 'none.binpb' }),
      /none\.binpb cannot be read/,
      'missing',
    ],
    [
      'is something else',
      () => ({ descriptor_set_path: import.meta.filename }),
      /no complete set/,
      'refused',
    ],
    [
      'lacks what it imports',
      () => ({ descriptor_set_path: server.withoutImports }),
      /no complete set/,
      'refused',
    ],
    [
      'lacks the service',
      () => ({ service_name: 'shop.v1.Order' }),
      /the service `shop\.v1\.Order`/,
      'missing',
    ],
    ['lacks the method', () => ({ method_name: 'Lists' }), /the method `Lists`/, 'missing'],
    ['has a stream there', () => ({ method_name: 'Watch' }), /answers with a stream/, 'refused'],
    ['wants a stream', () => ({ method_name: 'Talk' }), /takes a stream/, 'refused'],
  ])('that %s ends the run', async (_what, more, message, kind) => {
    await expect(list(more())).rejects.toMatchObject({
      kind,
      message: expect.stringMatching(message) as string,
    });
  });

  it('names what is near', async () => {
    await expect(list({ method_name: 'Lists' })).rejects.toMatchObject({
      hint: 'did you mean `List`?',
    });
  });
});

describe('a login', () => {
  const headersOf = async (more: JsonObject, options: RunOptions = {}) => {
    let call: Call | undefined;
    server.answers = {
      list: (_request, asked) => {
        call = asked;
        return { orders: [] };
      },
    };
    const { env } = await list(more, options);
    return { metadata: call?.metadata, env };
  };

  it('is a bearer token', async () => {
    const { metadata } = await headersOf(
      { auth: { type: 'bearer', config: { token: 'abcd1234' } } },
      logins(),
    );
    expect(metadata?.get('authorization')).toEqual(['Bearer abcd1234']);
  });

  it('is metadata in its order, with keys that come again and bytes, and is no text of a log', async () => {
    const entries = [
      { key: 'X-Key', value: 'first-secret' },
      { key: 'x-key', value: 'second-secret' },
      { key: 'trace-bin', value: 'AP8=' },
    ];
    const { metadata, env } = await headersOf({ auth: { type: 'metadata', config: { entries } } });
    expect(metadata?.get('x-key')).toEqual(['first-secret, second-secret']);
    expect(metadata?.get('trace-bin')).toEqual([Buffer.from([0, 255])]);
    expect(env.redactor.text('it is second-secret')).not.toContain('second-secret');
  });

  it('that is shared is renewed once when the server does not know its token, in a stream too', async () => {
    for (const read of [list, watch]) {
      const tokens: unknown[] = [];
      let asked = 0;
      const take = ({ metadata }: Call): void => {
        tokens.push(metadata.get('authorization')[0]);
        if (tokens.length === 1) throw failing(16);
      };
      server.answers = {
        list: (_request, call) => {
          take(call);
          return { orders: [one] };
        },
        watch: (send, call) => {
          take(call);
          send(one);
        },
      };
      let held = { headers: { authorization: 'Bearer t0' }, query: {} };
      const provider = {
        get: () => Promise.resolve(held),
        invalidate: () => {
          asked += 1;
          held = { headers: { authorization: `Bearer t${asked}` }, query: {} };
        },
      };
      const context = { credentials: { resolve: () => provider } };
      expect((await read({ auth: { ref: 'crm' } }, { context })).records).toHaveLength(1);
      expect(tokens).toEqual(['Bearer t0', 'Bearer t1']);
    }
  });

  it('that belongs into a query or another address is refused', async () => {
    const parts: readonly Credential[] = [
      { headers: {}, query: { key: 'a' } },
      { headers: {}, query: {}, baseUrl: 'https://other.example.com' },
    ];
    for (const credential of parts) {
      const provider = { get: () => Promise.resolve(credential), invalidate: () => {} };
      const context = { credentials: { resolve: () => provider } };
      await expect(list({ auth: { ref: 'crm' } }, { context })).rejects.toMatchObject({
        kind: 'refused',
      });
    }
  });
});

function logins(): RunOptions {
  const place = { env: testEnv(), signal: new AbortController().signal };
  return { context: { credentials: createCredentials(new Registry(CREDENTIALS), {}, place) } };
}

describe('a stream', () => {
  const item = (index: number): JsonObject => ({ orderId: String(index + 1) });
  const items = (from: number, to: number): JsonObject[] =>
    Array.from({ length: to - from }, (_, index) => item(from + index));

  /** Each call sends its part of the items, and breaks off unless it is the last. */
  const breaking = (...calls: readonly (readonly JsonObject[])[]): (() => number) => {
    let call = 0;
    server.answers = {
      watch: (send) => {
        const index = call;
        call += 1;
        calls[index]?.forEach(send);
        if (index < calls.length - 1) throw failing(14, 'gone');
      },
    };
    return () => call;
  };

  it('that breaks off goes on behind what was read, when the server begins anew', async () => {
    breaking(items(0, 5), items(0, 3), items(0, 9));
    const { records, waits } = await watch({ reconnect_initial_backoff: 2 });
    expect(records).toEqual(items(0, 9));
    expect(waits.filter((ms) => ms >= 2000)).toEqual([2000, 4000]);
  });

  it('of a server that goes on by itself gives all that comes', async () => {
    breaking(items(0, 5), items(5, 9));
    const { records } = await watch({ reconnect_replay_from_start: false });
    expect(records).toEqual(items(0, 9));
  });

  it('is called again as often as it may, with pauses that have a bound', async () => {
    const calls = breaking([], [], [], [], items(0, 1));
    const limits = { reconnect_initial_backoff: 1, reconnect_max_backoff: 3 };
    await expect(watch({ ...limits, reconnect_max_attempts: 2 })).rejects.toMatchObject({
      kind: 'connection',
    });
    expect(calls()).toBe(3);
    breaking([], [], [], [], items(0, 1));
    const { waits } = await watch({ ...limits, reconnect_max_attempts: 4 });
    expect(waits.filter((ms) => ms !== 1000 || ms > 1000)).toEqual([2000, 3000, 3000]);
  });

  it('that was called again and gave something new may break off as often again', async () => {
    breaking(items(0, 1), items(0, 2), items(0, 3), items(0, 4));
    expect((await watch({ reconnect_max_attempts: 1 })).records).toEqual(items(0, 4));
  });

  it('ends the run where it breaks off with `terminate_on_error`, or is refused', async () => {
    const calls = breaking(items(0, 5), items(0, 9));
    await expect(watch({ terminate_on_error: true })).rejects.toMatchObject({ kind: 'connection' });
    expect(calls()).toBe(1);
    server.answers = { watch: () => Promise.reject(failing(7)) };
    await expect(watch()).rejects.toMatchObject({ kind: 'auth' });
  });

  it('ends after so many messages, and tells the server', async () => {
    const cancelled = Promise.withResolvers<void>();
    server.answers = {
      watch: (send, call) => {
        call.on('cancelled', () => cancelled.resolve());
        items(0, 9).forEach(send);
        return new Promise(() => {});
      },
    };
    expect((await watch({ max_messages: 4 })).records).toEqual(items(0, 4));
    await cancelled.promise;
  });

  it('gives the records of each message', async () => {
    server.answers = {
      watch: (send) => {
        send({ tags: ['a', 'b'] });
        send({});
        send({ tags: ['c'] });
      },
    };
    expect((await watch({ records_path: '$.tags[*]' })).records).toEqual(['a', 'b', 'c']);
  });

  it('of more than there is room for waits, and loses nothing', async () => {
    const long = Array.from({ length: 400 }, (_, index) => ({
      orderId: String(index + 1),
      v: 'x'.repeat(5000),
    }));
    server.answers = { watch: (send) => long.forEach(send) };
    const { records } = await watch({ batch_size: 10 }, { context: { pageBytes: 20_000 } });
    expect(records).toEqual(long);
  });
});

describe('TLS', () => {
  let secure: FakeGrpcServer;
  beforeAll(async () => {
    const [cert, key] = [readFileSync(CERTIFICATES.cert), readFileSync(CERTIFICATES.key)];
    const pair = [{ cert_chain: cert, private_key: key }];
    const ca = readFileSync(CERTIFICATES.ca);
    secure = await startGrpcServer(ServerCredentials.createSsl(ca, pair, true));
    secure.answers = { list: () => ({ orders: [one] }) };
  });
  afterAll(() => secure.close());

  const folder = CERTIFICATES.ca.replace(/\/[^/]*$/, '');
  const client = { client_cert: `${folder}/client.pem`, client_key: `${folder}/client.key` };
  const ask = (more: JsonObject) =>
    list({ endpoint: `https://${secure.address}`, include_defaults: false, ...more });

  it('reads a server whose authority and client certificate are named', async () => {
    const tls = { ca_path: CERTIFICATES.ca, ...client };
    expect((await ask({ tls })).records).toEqual([one]);
    const named = { ...tls, server_name: 'localhost' };
    expect((await ask({ endpoint: `http://${secure.address}`, tls: named })).records).toEqual([
      one,
    ]);
  });

  it('refuses a server that nobody vouches for, or that has another name', async () => {
    await expect(ask({})).rejects.toMatchObject({ kind: 'refused' });
    await expect(ask({ endpoint: `http://${secure.address}`, tls: true })).rejects.toMatchObject({
      kind: 'refused',
    });
    const tls = { ca_path: CERTIFICATES.ca, ...client, server_name: 'other.example.com' };
    await expect(ask({ tls })).rejects.toMatchObject({ kind: 'refused' });
  });

  it('needs the certificate that the server wants, and files that are there', async () => {
    await expect(ask({ tls: { ca_path: CERTIFICATES.ca } })).rejects.toMatchObject({
      kind: 'connection',
    });
    await expect(ask({ tls: { ca_path: 'none.pem' } })).rejects.toMatchObject({ kind: 'missing' });
  });

  it('does not speak to a server without it where it is wanted', async () => {
    await expect(
      list({ endpoint: server.url.replace('http', 'https'), tls: { ca_path: CERTIFICATES.ca } }),
    ).rejects.toMatchObject({ name: 'ConnectorError' });
  });
});

describe('a config', () => {
  const paths = (more: JsonObject) => issuesOf(grpcSource, base(more)).map(({ path }) => path);

  it.each([
    ['127.0.0.1:50051'],
    ['http://user:pw@127.0.0.1:50051'],
    ['http://127.0.0.1:50051/api'],
    ['ftp://127.0.0.1'],
  ])('does not take %s as an address', (endpoint) => {
    expect(paths({ endpoint })).toEqual(['endpoint']);
  });

  it('says what contradicts itself', () => {
    expect(paths({ max_messages: 3 })).toEqual(['max_messages']);
    expect(paths({ endpoint: 'https://x', tls: false })).toEqual(['tls']);
    const keyed = (key: string, value = 'v') => ({
      auth: { type: 'metadata', config: { entries: [{ key, value }] } },
    });
    expect(paths(keyed('x-key'))).toEqual([]);
    expect(paths(keyed('x key'))).toEqual(['auth.config.entries[0].key']);
    expect(paths(keyed('grpc-timeout'))).toEqual(['auth.config.entries[0].key']);
    expect(paths(keyed('x-key', 'a\nb'))).toEqual(['auth.config.entries[0].value']);
    expect(paths({ auth: { ref: 'crm', type: 'bearer' } })).not.toEqual([]);
  });
});
