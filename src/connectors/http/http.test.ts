import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { createCredentials, CREDENTIALS } from '../../credentials/index.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { Registry } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import type { WriteResult } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { httpSink } from './index.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

function write(
  config: JsonObject,
  records: readonly JsonValue[],
  partial = true,
  signal = new AbortController().signal,
): Promise<WriteResult> {
  return writeIn({ signal }, config, records, partial);
}

async function writeIn(
  { env = testEnv(), signal = new AbortController().signal, ...rest }: Partial<SinkContext>,
  config: JsonObject,
  records: readonly JsonValue[],
  partial: boolean,
): Promise<WriteResult> {
  const checked = check(httpSink.config, { url: `${server.url}/in`, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const credentials = createCredentials(new Registry(CREDENTIALS), {}, { env, signal });
  const sink = await httpSink.open(
    checked.value,
    sinkContext({ ...rest, env, signal, credentials }),
  );
  try {
    return await sink.write(Page.ofRecords(records), { partial });
  } finally {
    await sink.close();
  }
}

const numbers = (count: number): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({ n: index }));

it.each([301, 302, 303, 307])(
  'takes nothing for written that a redirect of %d brings nowhere',
  async (status) => {
    server.respond(({ method, path, body }) => {
      if (path === '/in') return { status, headers: { location: '/login' } };
      return method === 'POST' && body === '' ? { status: 400 } : { body: 'welcome' };
    });
    const result = write({}, [{ n: 1 }], false);
    if (status > 302) return expect(await result).toMatchObject({ written: 1 });
    await expect(result).rejects.toMatchObject({
      kind: 'refused',
      message: `POST ${server.url}/in was redirected to ${server.url}/login, where it would arrive without its body`,
    });
    expect(server.requests).toHaveLength(1);
  },
);

describe('one record a request', () => {
  it('tries every record and tells which were refused', async () => {
    server.respond((request) => ({
      status: (request.json() as { n: number }).n % 2 === 0 ? 201 : 422,
      body: 'odd',
    }));
    const result = await write(
      { auth: { type: 'custom', config: { headers: { 'X-Key': 'abcd' } } } },
      numbers(5),
    );
    expect(result.written).toBe(3);
    expect(
      result.rejected.map(({ index, error }) => [
        index,
        error.kind,
        error.message.includes('422: odd'),
      ]),
    ).toEqual([
      [1, 'HttpStatus', true],
      [3, 'HttpStatus', true],
    ]);
    expect(server.requests).toHaveLength(5);
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/in',
      headers: { 'content-type': 'application/json', 'x-key': 'abcd' },
    });
  });

  it('fails the page with the kind of the first failure when nobody takes rejects', async () => {
    server.respond([{ status: 503, body: 'busy' }]);
    await expect(write({}, numbers(3), false)).rejects.toMatchObject({
      kind: 'http_5xx',
      status: 503,
    });
    expect(server.requests).toHaveLength(3);
  });

  it('has at most `concurrency` requests under way', async () => {
    let now = 0;
    let most = 0;
    server.respond(async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise(setImmediate);
      now -= 1;
      return {};
    });
    await write({ concurrency: 3 }, numbers(12));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
  });

  it('repeats what failed on the way', async () => {
    server.respond([{ status: 500 }, { status: 429 }, { status: 200 }]);
    expect(await write({ max_retries: 2 }, numbers(1))).toEqual({ written: 1, rejected: [] });
  });

  it('repeats as `resilience.retry` says, and how often only where it does not say so itself', async () => {
    const retry = {
      maxAttempts: 3,
      backoff: 'exponential',
      baseMs: 20,
      maxMs: 30,
      jitter: false,
      on: ['http_5xx'],
    } as const;
    const waits = async (config: JsonObject, status: number): Promise<readonly number[]> => {
      server.respond([{ status }]);
      const clock = stillClock();
      await writeIn({ env: testEnv({ clock }), retry }, config, numbers(1), true);
      return clock.waits;
    };
    expect(await waits({}, 503)).toEqual([20, 30]);
    expect(await waits({ max_retries: 3 }, 503)).toEqual([20, 30, 30]);
    expect(await waits({ max_retries: 3 }, 429)).toEqual([]);
  });

  it('keeps integers beyond 2^53 digit by digit', async () => {
    server.respond([{}]);
    await write({}, [{ id: 12345678901234567890n }]);
    expect(server.requests[0]?.body).toBe('{"id":12345678901234567890}');
  });

  it('stops when its signal fires', async () => {
    const stop = new AbortController();
    server.respond(() => {
      stop.abort(new Error('enough'));
      return { hangs: true };
    });
    await expect(write({ concurrency: 1 }, numbers(50), true, stop.signal)).rejects.toThrow(
      'enough',
    );
    expect(server.requests).toHaveLength(1);
  });
});

describe('lists', () => {
  it('are cut at batch_size; 0 sends the page whole', async () => {
    server.respond([{}]);
    await write({ batch_mode: 'array', batch_size: 2, method: 'put' }, numbers(5));
    expect(server.requests.map((request) => (request.json() as unknown[]).length)).toEqual([
      2, 2, 1,
    ]);
    expect(server.requests[0]?.method).toBe('PUT');
    server.requests.length = 0;
    await write({ batch_mode: { type: 'Array' }, batch_size: 0 }, numbers(5));
    expect(server.requests.map((request) => (request.json() as unknown[]).length)).toEqual([5]);
  });

  it('are taken or refused as a whole', async () => {
    server.respond([{ status: 400 }]);
    await expect(write({ batch_mode: 'array' }, numbers(2))).rejects.toMatchObject({
      kind: 'refused',
    });
  });
});

it('tells which mode can reject single records', () => {
  const can = (batch_mode: string) =>
    httpSink.capabilities(httpSink.config.parse({ url: server.url, batch_mode }));
  expect(can('Individual')).toMatchObject({ perRow: true, atomicity: 'per_row' });
  expect(can('Array')).toMatchObject({ perRow: false });
});

it('takes any answer to its probe, and writes nothing', async () => {
  server.respond([{ status: 405 }]);
  expect(await httpSink.probe?.(httpSink.config.parse({ url: server.url }), sinkContext())).toEqual(
    [{ name: 'network', status: 'pass' }],
  );
  expect(server.requests[0]?.method).toBe('HEAD');
});

it('is called by its address with the query, and without what is secret in it', () => {
  const config = (url: string) => {
    const checked = check(httpSink.config, { url });
    return checked.ok ? httpSink.datasetUri(checked.value) : '';
  };
  expect(config('https://u:p@api.example.com/in?table=a&api_key=abcd#x')).toBe(
    'https://api.example.com/in?table=a&api_key=***',
  );
});
