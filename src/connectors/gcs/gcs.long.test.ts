import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { startFakeGcs, type FakeGcs, type GcsFault } from '../../../test/fakes/gcs-server.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { sharedGcs } from '../../../test/conformance/fixtures/shared-gcs.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { FinishReason } from '../../kit/sink.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { gcsSink, gcsSource } from './index.ts';

let store: FakeGcs;
beforeEach(async () => {
  store = await startFakeGcs();
  store.buckets.set('b', new Map());
});
afterEach(() => store.close());

const place = (): JsonObject => ({ bucket: 'b', storage_host: store.url });

/** Some requests fail, then they go through. */
function failing(
  times: number,
  fault: GcsFault,
  isMeant: (request: FakeGcs['requests'][number]) => boolean,
): void {
  let left = times;
  store.fail((request) => (isMeant(request) && left-- > 0 ? fault : undefined));
}

function read(config: JsonObject, options: Parameters<typeof runSource>[2] = {}) {
  return runSource(gcsSource, { ...place(), ...config }, options);
}

const lines = (...ids: number[]): string => ids.map((id) => `{"id":${id}}\n`).join('');
const ids = (...all: number[]): JsonObject[] => all.map((id) => ({ id }));

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonValue[])[],
  {
    reason = 'success',
    context = {},
  }: { readonly reason?: FinishReason; readonly context?: Partial<SinkContext> } = {},
) {
  const checked = check(gcsSink.config, { ...place(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
  const sink = await gcsSink.open(checked.value, sinkContext({ env, ...context }));
  try {
    for (const records of pages) await sink.write(Page.ofRecords(records), { partial: false });
    await sink.flush();
    await sink.finish(reason);
  } finally {
    await sink.close();
  }
}

const stored = (): Record<string, string> =>
  Object.fromEntries(
    [...(store.buckets.get('b') ?? [])].map(([key, { body }]) => [key, body.toString()]),
  );

describe('reading', () => {
  test('objects over several pages of the list, in the order of their names', async () => {
    // What stands for a folder is listed, and not read.
    for (let id = 0; id < 1001; id += 1) store.put('b', `in/${id}/`, '');
    store.put('b', 'in/0 ü%.jsonl', lines(1));
    store.put('b', 'in/z.jsonl', lines(2));
    store.put('b', 'out/z', lines(9));
    expect((await read({ prefix: 'in/' })).records).toEqual(ids(1, 2));
    expect(store.requests.filter(({ key }) => key === '')).toHaveLength(2);
  });

  test('objects that are named, without listing any', async () => {
    store.put('b', 'a', lines(1));
    store.put('b', 'b', lines(2));
    expect((await read({ object_keys: ['b', 'a'] })).records).toEqual(ids(2, 1));
    expect(store.requests.some(({ key }) => key === '')).toBe(false);
  });

  test('only names behind the last one', async () => {
    const config = { incremental: { by: 'name' } };
    store.put('b', 'a', lines(1));
    const { bookmark } = await read(config);
    store.put('b', 'b', lines(2));
    expect((await read(config, { bookmark: bookmark ?? null })).records).toEqual(ids(2));
  });

  test.each<[string, GcsFault]>([
    ['asks to slow down', { status: 429 }],
    ['has an internal error', { status: 503 }],
    ['resets the connection', { resets: true }],
  ])('a store that %s is asked again', async (_name, fault) => {
    store.put('b', 'a', lines(1));
    failing(2, fault, () => true);
    const { records, waits } = await read({});
    expect(records).toEqual(ids(1));
    expect(waits).toHaveLength(2);
  });

  const many = Array.from({ length: 5000 }, (_, id) => id);

  test('a body that breaks off is read on where it ended, and each record comes once', async () => {
    store.put('b', 'a', lines(...many));
    failing(3, { breaksAfter: 7000 }, ({ key }) => key === 'a');
    expect((await read({})).records).toEqual(ids(...many));
    expect(store.requests.at(-1)?.headers.range).toBe('bytes=21000-');
  });

  test('an object that is replaced meanwhile is not read as a mixture', async () => {
    store.put('b', 'a', lines(...many));
    store.fail(({ key, headers }) => {
      if (key !== 'a' || headers.range !== undefined) return undefined;
      setImmediate(() => store.put('b', 'a', lines(7)));
      return { breaksAfter: 7000 };
    });
    await expect(read({})).rejects.toMatchObject({
      kind: 'refused',
      hint: 'the object was replaced or removed while it was read; run it again',
    });
  });

  test('an object that the store unpacks is read on from its beginning, and not compared', async () => {
    const unpacked = Buffer.from(lines(...many));
    store.put('b', 'a', gzipSync(unpacked), { unpacked });
    failing(1, { breaksAfter: 7000 }, ({ key }) => key === 'a');
    const { records, env } = await read({ verify_checksum: true });
    expect(records).toEqual(ids(...many));
    expect(env.lines.some(({ line }) => line.includes('no checksum of the whole'))).toBe(true);
  });

  test('parts of an object that the store unpacks are refused', async () => {
    store.put('b', 'a.parquet', 'PAR1', { unpacked: Buffer.from('PAR1PAR1PAR1') });
    await expect(read({ file_format: 'parquet' })).rejects.toThrow('Content-Encoding: gzip');
  });

  test('a checksum that does not fit fails', async () => {
    store.put('b', 'a', lines(1));
    expect((await read({ verify_checksum: true })).records).toEqual(ids(1));
    store.put('b', 'a', lines(1), { crc32c: 'AAAAAA==' });
    await expect(read({ verify_checksum: true })).rejects.toThrow(/crc32c checksum/);
  });

  test('a store that does not answer is given up after a while, as the document says', async () => {
    const retry = {
      maxAttempts: 2,
      backoff: 'none' as const,
      baseMs: 0,
      maxMs: 0,
      jitter: false,
      on: ['http_5xx' as const],
    };
    store.fail(() => ({ status: 500 }));
    await expect(read({}, { context: { retry } })).rejects.toMatchObject({ kind: 'http_5xx' });
    expect(store.requests).toHaveLength(2);
  });
});

describe('writing', () => {
  const large = (): JsonValue[][] =>
    Array.from({ length: 9 }, (_, id) => [{ id, text: 'x'.repeat(1_000_000) }]);
  const isPart = ({ method, query }: FakeGcs['requests'][number]): boolean =>
    method === 'PUT' && query.has('upload_id');

  test('a run makes one object of its own, which appears at the end', async () => {
    await write({ prefix: 'out/' }, [ids(1), ids(2)], {
      context: { invocationId: '01890000-0000-7000-8000-000000000001' },
    });
    expect(stored()).toEqual({
      'out/01890000-0000-7000-8000-000000000001-00001.jsonl': lines(1, 2),
    });
    const [object] = store.buckets.get('b')?.values() ?? [];
    expect(object?.contentType).toBe('application/x-ndjson');
  });

  test('a large object is sent in parts, one after the other, and has its type', async () => {
    await write({ path: 'a.jsonl' }, large());
    expect(store.requests.filter(isPart).map(({ headers }) => headers['content-range'])).toEqual([
      'bytes 0-8388607/*',
      'bytes 8388608-8912895/*',
      'bytes 8912896-9000170/9000171',
    ]);
    expect(stored()['a.jsonl']?.split('\n')).toHaveLength(10);
    expect(store.buckets.get('b')?.get('a.jsonl')?.contentType).toBe('application/x-ndjson');
    expect(store.sessions.size).toBe(0);
  });

  test.each<[string, GcsFault]>([
    ['an error', { status: 503 }],
    ['a lost answer', { losesAnswer: true }],
    ['a reset', { resets: true }],
  ])('each part is there once after %s', async (_name, fault) => {
    for (const nth of [1, 2, 3]) {
      store.requests.length = 0;
      let parts = 0;
      store.fail((request) => (isPart(request) && (parts += 1) === nth ? fault : undefined));
      await write({ path: 'a.jsonl' }, large());
      expect(stored()['a.jsonl']).toBe(
        large()
          .flat()
          .map((record) => `${JSON.stringify(record)}\n`)
          .join(''),
      );
      expect(store.sessions.size).toBe(0);
    }
  });

  test('a store that takes the beginning of a part is sent the rest', async () => {
    failing(2, { takes: 512 * 1024 }, isPart);
    await write({ path: 'a.jsonl' }, large());
    expect(stored()['a.jsonl']?.split('\n')).toHaveLength(10);
  });

  test('what was sent is removed when a part is refused', async () => {
    let parts = 0;
    store.fail((request) => (isPart(request) && (parts += 1) === 2 ? { status: 403 } : undefined));
    await expect(write({ path: 'a.jsonl' }, large())).rejects.toMatchObject({ kind: 'refused' });
    expect(stored()).toEqual({});
    expect(store.sessions.size).toBe(0);
  });

  test('what was sent is removed when the run is killed while it sends', async () => {
    const stop = new AbortController();
    let parts = 0;
    store.fail((request) => {
      if (isPart(request) && (parts += 1) === 2) stop.abort(new Error('killed'));
      return undefined;
    });
    const killed = write({ path: 'a.jsonl' }, large(), { context: { signal: stop.signal } });
    await expect(killed).rejects.toThrow('killed');
    expect(stored()).toEqual({});
    expect(store.sessions.size).toBe(0);
  });

  test('of several objects none appears before all are there', async () => {
    const config = { path: 'o-{part}.jsonl', max_records_per_file: 1 };
    const page = ids(1, 2).map((record) => ({ ...record, text: 'x'.repeat(300_000) }));
    store.fail(({ key, isSession }) =>
      isSession && key === 'o-00002.jsonl' ? { status: 403 } : undefined,
    );
    await expect(write(config, [page])).rejects.toMatchObject({ kind: 'refused' });
    expect(stored()).toEqual({});
    expect(store.sessions.size).toBe(0);
    store.fail(() => undefined);
    await write(config, [page]);
    expect(Object.keys(stored())).toEqual(['o-00001.jsonl', 'o-00002.jsonl']);
  });

  test.each(['failed', 'cancelled'] as const)('a run that is %s leaves nothing', async (reason) => {
    await write({}, [ids(1)], { reason });
    expect(stored()).toEqual({});
    expect(store.sessions.size).toBe(0);
  });
});

describe('who asks', () => {
  const { secret: json } = sharedGcs();
  const inline = { type: 'service_account_json_inline', config: { json } };
  const authorization = (): string => store.requests[0]?.headers.authorization ?? '';

  test('nobody where another address is given, unless the document names somebody', async () => {
    await read({});
    expect(authorization()).toBe('');
  });

  test('a service account signs for itself, and the address of an upload needs no login', async () => {
    await read({ auth: inline });
    const [head = '', claims = '', signature = ''] = authorization()
      .slice('Bearer '.length)
      .split('.');
    const { private_key: key } = JSON.parse(json) as { private_key: string };
    const signed = Buffer.from(`${head}.${claims}`);
    expect(
      verify('sha256', signed, createPublicKey(key), Buffer.from(signature, 'base64url')),
    ).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: 'loader@project.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/devstorage.read_write',
    });
  });

  test('its key may be an object, or in a file that documents may read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-gcs-'));
    try {
      const path = join(folder, 'key.json');
      writeFileSync(path, json);
      const auth = { type: 'service_account_json_file', config: { path } };
      await read({ auth });
      expect(authorization()).toMatch(/^Bearer ey/);
      restrictFiles({ root: process.cwd(), refused: [] });
      await expect(read({ auth })).rejects.toThrow('outside');
    } finally {
      restrictFiles(undefined);
      rmSync(folder, { recursive: true });
    }
    store.requests.length = 0;
    await read({ auth: { ...inline, config: { json: JSON.parse(json) as JsonObject } } });
    expect(authorization()).toMatch(/^Bearer ey/);
  });

  test.each([
    [
      'another kind of credentials',
      { type: 'external_account', credential_source: { file: '/etc/passwd' } },
    ],
    ['no JSON', 'text'],
  ])('%s is no key of a service account', async (_name, content) => {
    const auth = { ...inline, config: { json: content } };
    await expect(read({ auth })).rejects.toMatchObject({
      kind: 'auth',
      message: '`auth.config.json` is not the key of a service account',
    });
    expect(store.requests).toEqual([]);
  });

  test('a broken key is told without showing it', async () => {
    const broken = { ...(JSON.parse(json) as JsonObject), private_key: 'sEcReT' };
    const failure: unknown = await read({ auth: { ...inline, config: { json: broken } } }).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ kind: 'auth' });
    expect(String(failure)).not.toContain('sEcReT');
  });
});

describe('looking without writing', () => {
  const probe = async (): Promise<readonly string[]> => {
    const checked = check(gcsSink.config, place());
    if (!checked.ok) throw new Error('no config');
    const clock = stillClock('2026-02-01T00:00:00Z');
    const context = sinkContext({ env: testEnv({ clock }) });
    const findings = (await gcsSink.probe?.(checked.value, context)) ?? [];
    return findings.map(({ name, status }) => `${name} ${status}`);
  };

  test('the doctor tries to write, and leaves nothing', async () => {
    expect(await probe()).toEqual(['network pass', 'auth pass']);
    expect(stored()).toEqual({});
    expect(store.sessions.size).toBe(0);
    store.fail(() => ({ status: 403 }));
    expect(await probe()).toEqual(['network pass', 'auth fail']);
    store.fail(() => ({ resets: true }));
    expect(await probe()).toEqual(['network fail', 'auth skip']);
  });

  test('discovery lists the next level, and what it finds can be read', async () => {
    store.put('b', 'in/a/x', lines(1));
    store.put('b', 'in/b/x', lines(2));
    const discover = async (prefix: string) => {
      const checked = check(gcsSource.config, { ...place(), prefix });
      if (!checked.ok) throw new Error('no config');
      return (await gcsSource.discover?.(checked.value, sourceContext())) ?? [];
    };
    expect(await discover('in/')).toEqual([
      { name: 'in/a/', kind: 'prefix', config_patch: { prefix: 'in/a/' } },
      { name: 'in/b/', kind: 'prefix', config_patch: { prefix: 'in/b/' } },
    ]);
    const [found] = await discover('in/b/');
    expect(found).toMatchObject({ name: 'in/b/x', kind: 'object' });
    expect(found?.config_patch).toMatchObject({ object_keys: ['in/b/x'] });
    expect((await read({ prefix: 'in/b/', ...found?.config_patch })).records).toEqual(ids(2));
  });

  test('the address of the data set has no credentials', () => {
    const checked = check(gcsSource.config, { ...place(), prefix: 'in/' });
    if (!checked.ok) throw new Error('no config');
    expect(gcsSource.datasetUri(checked.value)).toBe('gs://b/in/');
  });
});
