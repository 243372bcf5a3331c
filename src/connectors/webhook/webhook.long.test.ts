import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { SourceContext } from '../../kit/context.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { webhookSource } from './index.ts';

interface Window {
  readonly url: string;
  readonly records: Promise<JsonValue[]>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A source that listens; what it reads comes when it has ended. */
async function open(
  config: JsonObject,
  more: Partial<SourceContext> = {},
  pauseMs = 20,
): Promise<Window> {
  const address = `127.0.0.1:${await freePort()}`;
  const checked = check(webhookSource.config, {
    listen_addr: address,
    timeout_secs: 20,
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = testEnv({ clock: systemClock });
  const source = await webhookSource.open(checked.value, sourceContext({ env, ...more }));
  const records = (async () => {
    const found: JsonValue[] = [];
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      found.push(...page.records());
      await systemClock.sleep(pauseMs);
    }
    return found;
  })();
  const url = `http://${address}`;
  await expect
    .poll(() =>
      fetch(url).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(404);
  return { url, records };
}

const post = async (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<number> => (await fetch(url, { method: 'POST', body, headers })).status;

test('payloads are values of JSON, or texts', async () => {
  const { url, records } = await open({ max_payloads: 4 });
  for (const body of ['{"a":1.50}', '[1]', 'plain ä', ''])
    expect(await post(`${url}/webhook`, body)).toBe(200);
  expect((await records).map((record) => JSON.stringify(record))).toEqual([
    '{"a":1.5}',
    '[1]',
    '"plain ä"',
    '""',
  ]);
});

test('what is no payload is refused, and nothing of it is read', async () => {
  const { url, records } = await open({ max_payloads: 1, max_body_bytes: 10 });
  const hook = `${url}/webhook`;
  expect((await fetch(hook)).status).toBe(405);
  expect(await post(`${url}/other`, '1')).toBe(404);
  expect(await post(hook, Uint8Array.of(255))).toBe(400);
  expect(await post(hook, '"0123456789"')).toBe(413);
  expect(await post(hook, '1', { 'content-encoding': 'gzip' })).toBe(415);
  const endless = new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(8)) });
  const streamed = fetch(hook, { method: 'POST', body: endless, duplex: 'half' });
  expect(
    await streamed.then(
      ({ status }) => status,
      () => 413,
    ),
  ).toBe(413);
  expect(await post(`${hook}?from=there`, '1234567890')).toBe(200);
  expect(await records).toEqual([1_234_567_890]);
});

test('a token is asked for, alone or as a bearer token', async () => {
  const { url, records } = await open({ max_payloads: 2, auth_token: 'abc', path: 'in' });
  const hook = `${url}/in`;
  expect(await post(hook, '1')).toBe(401);
  expect(await post(hook, '1', { authorization: 'Bearer abd' })).toBe(401);
  expect(await post(hook, '2', { authorization: 'Bearer abc' })).toBe(200);
  expect(await post(hook, '3', { authorization: 'abc' })).toBe(200);
  expect(await records).toEqual([2, 3]);
});

test.each(['/bücher neu', '/b%C3%BCcher%20neu', '/a+b//c/'])(
  'requests come to the path %s',
  async (path) => {
    const { url, records } = await open({ path, max_payloads: 1 });
    expect(await post(`${url}${path}`, '1')).toBe(200);
    expect(await records).toEqual([1]);
  },
);

test('the window ends after its time, and nobody listens any more', async () => {
  const { url, records } = await open({ timeout_secs: 0.3 });
  expect(await post(`${url}/webhook`, '1')).toBe(200);
  expect(await records).toEqual([1]);
  await expect(post(`${url}/webhook`, '2')).rejects.toThrow(/fetch failed/);
});

test('of many at once exactly as many are taken as are wanted', async () => {
  const { url, records } = await open({ max_payloads: 5 });
  const sent = Array.from({ length: 30 }, (_, n) =>
    post(`${url}/webhook`, String(n)).catch(() => 0),
  );
  expect(await records).toHaveLength(5);
  expect((await Promise.all(sent)).filter((status) => status === 200).length).toBeGreaterThan(4);
});

test('senders wait while there is no room, and nothing is lost', async () => {
  const body = JSON.stringify('x'.repeat(50_000));
  const { url, records } = await open({ max_payloads: 60 }, { pageBytes: 100_000 }, 300);
  let answered = 0;
  const sent = Array.from({ length: 60 }, async () => {
    const status = await post(`${url}/webhook`, body);
    answered += 1;
    return status;
  });
  await systemClock.sleep(1000);
  expect(answered).toBeLessThan(60);
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]));
  expect(await records).toHaveLength(60);
});

test('the path is filled from the parent record', async () => {
  const { url, records } = await open({ path: '/in/{id}', max_payloads: 1 }, { parent: { id: 7 } });
  expect(await post(`${url}/in/7`, '1')).toBe(200);
  expect(await records).toEqual([1]);
});

test.each([{ listen_addr: '8080' }, { timeout_secs: 0 }, { max_payloads: 0 }, { auth_token: '' }])(
  '%j is refused',
  (config) => expect(check(webhookSource.config, config).ok).toBe(false),
);

test('its data set is named by where it listens', () => {
  const checked = check(webhookSource.config, {});
  expect(checked.ok && webhookSource.datasetUri(checked.value)).toBe(
    'webhook://127.0.0.1:8080/webhook',
  );
});
