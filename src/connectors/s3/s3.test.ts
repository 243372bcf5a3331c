import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { startFakeS3, type FakeS3, type S3Fault } from '../../../test/fakes/s3-server.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { FinishReason } from '../../kit/sink.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { s3Sink, s3Source } from './index.ts';

let store: FakeS3;
beforeEach(async () => {
  store = await startFakeS3();
  store.buckets.set('b', new Map());
});
afterEach(() => store.close());

const place = (): JsonObject => ({
  bucket: 'b',
  endpoint_url: store.url,
  credentials: {
    type: 'access_key',
    config: { access_key_id: 'id', secret_access_key: 'sEcReT-key' },
  },
});

/** One request fails so many times, then goes through. */
function failing(times: number, fault: S3Fault, method = 'GET'): void {
  let left = times;
  store.fail((request) => (request.method === method && left-- > 0 ? fault : undefined));
}

function read(config: JsonObject, options: Parameters<typeof runSource>[2] = {}) {
  return runSource(s3Source, { ...place(), ...config }, options);
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
  const checked = check(s3Sink.config, { ...place(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
  const sink = await s3Sink.open(checked.value, sinkContext({ env, ...context }));
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
  test('objects below a prefix, in the order of their keys; folders and unfinished output are left out', async () => {
    store.put('b', 'in/b.jsonl', lines(3));
    store.put('b', 'in/a.jsonl', lines(1, 2));
    store.put('b', 'in/', '');
    store.put('b', 'in/.c.jsonl.0a-1-2.svc-tmp', 'broken');
    store.put('b', 'out/z.jsonl', lines(9));
    expect((await read({ prefix: 'in/' })).records).toEqual(ids(1, 2, 3));
  });

  test('objects that match a pattern behind the prefix', async () => {
    store.put('b', 'in/a.jsonl', lines(1));
    store.put('b', 'in/deep/b.jsonl', lines(2));
    store.put('b', 'in/c.txt', 'no');
    expect((await read({ prefix: 'in/', pattern: '**/*.jsonl' })).records).toEqual(ids(1, 2));
    expect((await read({ prefix: 'in/', pattern: '*.jsonl' })).records).toEqual(ids(1));
  });

  test('objects that are named, without listing any', async () => {
    store.put('b', 'a', lines(1));
    store.put('b', 'b', lines(2));
    expect((await read({ object_keys: ['b', 'a'] })).records).toEqual(ids(2, 1));
    expect(store.requests.some(({ query }) => query.has('list-type'))).toBe(false);
  });

  test('at most so many objects', async () => {
    for (const key of ['a', 'b', 'c']) store.put('b', key, lines(1));
    expect((await read({ max_objects: 2 })).records).toHaveLength(2);
  });

  test('a prefix with a value of the parent record', async () => {
    store.put('b', 'x/a', lines(1));
    store.put('b', 'y/a', lines(2));
    const context = { parent: { name: 'y' } };
    expect((await read({ prefix: '{name}/' }, { context })).records).toEqual(ids(2));
  });

  test('a text with its key, and JSON that must be an array', async () => {
    store.put('b', 'a.txt', 'hello');
    expect((await read({ file_format: 'raw_text' })).records).toEqual([
      { key: 'a.txt', content: 'hello' },
    ]);
    store.put('b', 'a.txt', '{"id": 1}');
    await expect(read({ file_format: { type: 'json_array' } })).rejects.toThrow(
      's3://b/a.txt is no JSON array',
    );
  });

  test('a broken line names the key and the line', async () => {
    store.put('b', 'a.jsonl.gz', gzipSync(`${lines(1)}text\n`));
    await expect(read({})).rejects.toThrow(/line 2 of s3:\/\/b\/a\.jsonl\.gz/);
  });

  test('a list of several pages is asked for page by page', async () => {
    for (let at = 0; at < 2500; at += 1) store.put('b', `k${at}/`, '');
    expect((await read({})).records).toEqual([]);
    expect(store.requests.filter(({ query }) => query.has('list-type'))).toHaveLength(3);
  });

  test('requests are sent ahead, as many as the document says, and in order', async () => {
    for (let at = 0; at < 9; at += 1) store.put('b', `k${at}`, lines(at));
    const checked = check(s3Source.config, { ...place(), concurrency: 3 });
    if (!checked.ok) throw new Error('no config');
    const source = await s3Source.open(checked.value, sourceContext());
    const pages = source.pages({ lane: { form: 'records' } })[Symbol.asyncIterator]();
    await pages.next();
    const asked = store.requests.filter(({ key }) => key !== '').map(({ key }) => key);
    expect(asked.length).toBeLessThanOrEqual(3);
    await pages.return?.();
    await source.close();
    expect((await read({ concurrency: 3 })).records).toEqual(ids(0, 1, 2, 3, 4, 5, 6, 7, 8));
  });
});

describe('what is new', () => {
  const at = (secs: number): Date => new Date(Date.parse('2026-01-01T00:00:00Z') + secs * 1000);

  test('by time: objects that were stored later, also under the same key', async () => {
    store.put('b', 'z', lines(1), at(1));
    store.put('b', 'a', lines(2), at(2));
    const first = await read({ incremental: { by: 'mtime' } });
    expect(first.records).toEqual(ids(1, 2));
    store.put('b', 'z', lines(3), at(3));
    const bookmark = first.bookmark ?? null;
    const second = await read({ incremental: { by: 'mtime' } }, { bookmark });
    expect(second.records).toEqual(ids(3));
  });

  test('by time: what was stored just now waits, because a second may bring more', async () => {
    store.put('b', 'a', lines(1), at(0));
    store.put('b', 'b', lines(2), new Date('2026-01-31T23:59:59Z'));
    expect((await read({ incremental: { by: 'mtime' } })).records).toEqual(ids(1));
    const all = { incremental: { by: 'mtime' }, stable_for_secs: 0 };
    expect((await read(all)).records).toEqual(ids(1, 2));
  });

  test('by name: keys behind the last, which the store is asked for alone', async () => {
    store.put('b', '1', lines(1));
    const first = await read({ incremental: { by: 'name' } });
    store.put('b', '0', lines(0));
    store.put('b', '2', lines(2));
    const bookmark = first.bookmark ?? null;
    expect((await read({ incremental: { by: 'name' } }, { bookmark })).records).toEqual(ids(2));
    expect(store.requests.at(-2)?.query.get('start-after')).toBe('1');
  });
});

test('the block of JSON Lines is taken, and that of ORC refused with what to do', () => {
  expect(check(s3Source.config, { bucket: 'b', json_lines: {} }).ok).toBe(true);
  const checked = check(s3Source.config, { bucket: 'b', orc: { columns: ['a'] } });
  expect(checked.ok ? [] : checked.issues).toMatchObject([
    { code: 'not_available', path: 'orc', hint: expect.stringContaining('Parquet') },
  ]);
});

describe('faults while reading', () => {
  const faults: Record<string, S3Fault> = {
    'a store that asks to slow down': { status: 503, code: 'SlowDown' },
    'an internal error': { status: 500, code: 'InternalError' },
    'a reset connection': { resets: true },
  };
  test.each(Object.entries(faults))('%s is asked again', async (_name, fault) => {
    store.put('b', 'a', lines(1));
    failing(2, fault);
    const { records, waits } = await read({});
    expect(records).toEqual(ids(1));
    expect(waits).toHaveLength(2);
  });

  test('a body that breaks off is read on where it ended, and each record comes once', async () => {
    store.put('b', 'a', lines(...Array.from({ length: 5000 }, (_, id) => id)));
    let cuts = 3;
    store.fail(({ key }) => (key === 'a' && cuts-- > 0 ? { breaksAfter: 7000 } : undefined));
    const { records } = await read({});
    expect(records).toEqual(ids(...Array.from({ length: 5000 }, (_, id) => id)));
    expect(store.requests.at(-1)?.headers.range).toBe('bytes=21000-');
  });

  test('an object that is replaced meanwhile is not read as a mixture', async () => {
    store.put('b', 'a', lines(...Array.from({ length: 5000 }, (_, id) => id)));
    store.fail(({ key, headers }) => {
      if (key !== 'a' || headers.range !== undefined) return undefined;
      setImmediate(() => store.put('b', 'a', lines(7)));
      return { breaksAfter: 7000 };
    });
    await expect(read({})).rejects.toMatchObject({ status: 412 });
  });

  test('the document says how often', async () => {
    store.put('b', 'a', lines(1));
    failing(2, { status: 500, code: 'InternalError' });
    const retry = {
      maxAttempts: 2,
      backoff: 'none' as const,
      baseMs: 0,
      maxMs: 0,
      jitter: false,
      on: ['http_5xx' as const],
    };
    await expect(read({}, { context: { retry } })).rejects.toMatchObject({ kind: 'http_5xx' });
  });

  test('expired credentials are told with what to do, and never asked again', async () => {
    store.fail(() => ({ status: 400, code: 'ExpiredToken' }));
    await expect(read({})).rejects.toMatchObject({
      kind: 'auth',
      hint: 'get new credentials; those of a role are renewed by themselves',
    });
    expect(store.requests).toHaveLength(1);
  });
});

describe('comparing what was read with what was stored', () => {
  const content = lines(1, 2, 3);

  test('a checksum that fits, and one that does not', async () => {
    store.put('b', 'a', content);
    expect((await read({ verify_checksum: true })).records).toHaveLength(3);
    const object = store.buckets.get('b')?.get('a');
    if (object === undefined) throw new Error('nothing stored');
    store.buckets.get('b')?.set('a', { ...object, etag: `"${'0'.repeat(32)}"` });
    await expect(read({ verify_checksum: true })).rejects.toThrow(/md5 checksum/);
  });

  test('an object without a checksum of the whole is read with a warning', async () => {
    store.put('b', 'a', content);
    const object = store.buckets.get('b')?.get('a');
    if (object === undefined) throw new Error('nothing stored');
    store.buckets.get('b')?.set('a', { ...object, etag: `"${'0'.repeat(32)}-2"` });
    const { env } = await read({ verify_checksum: true });
    expect(env.lines.some(({ line }) => line.includes('no checksum of the whole'))).toBe(true);
  });
});

describe('writing', () => {
  test('a run makes one object of its own, which appears at the end', async () => {
    await write({ prefix: 'out/' }, [ids(1), ids(2)], {
      context: { invocationId: '01890000-0000-7000-8000-000000000001' },
    });
    expect(stored()).toEqual({
      'out/01890000-0000-7000-8000-000000000001-00001.jsonl': lines(1, 2),
    });
    expect([...(store.buckets.get('b')?.values() ?? [])][0]?.contentType).toBe(
      'application/x-ndjson',
    );
  });

  test('objects of at most so many records, compressed by the extension', async () => {
    await write({ path: 'o-{part}.jsonl.gz', max_records_per_file: 2 }, [ids(1, 2, 3)]);
    const objects = store.buckets.get('b') ?? new Map();
    expect([...objects.keys()]).toEqual(['o-00001.jsonl.gz', 'o-00002.jsonl.gz']);
    expect(gunzipSync(objects.get('o-00002.jsonl.gz')?.body ?? '').toString()).toBe(lines(3));
  });

  test.each(['failed', 'cancelled'] as const)('a run that is %s leaves nothing', async (reason) => {
    await write({}, [ids(1)], { reason });
    expect(stored()).toEqual({});
    expect(store.uploads.size).toBe(0);
  });

  const large = (): JsonValue[][] =>
    Array.from({ length: 20 }, (_, id) => [{ id, text: 'x'.repeat(1_000_000) }]);

  test('a large object is sent in parts', async () => {
    await write({ path: 'a.jsonl' }, large());
    const parts = store.requests.filter(({ query }) => query.has('partNumber'));
    expect(parts).toHaveLength(3);
    expect(stored()['a.jsonl']?.split('\n')).toHaveLength(21);
    expect(store.uploads.size).toBe(0);
  });

  test('an object is there once when the answer to its last request was lost', async () => {
    let losing = 1;
    store.fail(({ method }) =>
      method === 'POST' && losing-- === 0 ? { losesAnswer: true } : undefined,
    );
    await write({ path: 'a.jsonl' }, large());
    expect(stored()['a.jsonl']?.split('\n')).toHaveLength(21);
    expect(store.uploads.size).toBe(0);
  });

  test('what was sent is removed when a part cannot be sent', async () => {
    store.fail(({ query }) =>
      query.get('partNumber') === '2' ? { status: 403, code: 'AccessDenied' } : undefined,
    );
    await expect(write({ path: 'a.jsonl' }, large())).rejects.toMatchObject({ kind: 'refused' });
    expect(stored()).toEqual({});
    expect(store.uploads.size).toBe(0);
  });

  test('what was sent is removed when the run is killed while it sends', async () => {
    const stop = new AbortController();
    store.fail(({ query }) => {
      if (query.get('partNumber') === '2') stop.abort(new Error('killed'));
      return undefined;
    });
    await expect(
      write({ path: 'a.jsonl' }, large(), { context: { signal: stop.signal } }),
    ).rejects.toThrow('killed');
    expect(stored()).toEqual({});
    expect(store.uploads.size).toBe(0);
  });

  test('of several objects none appears before all are there', async () => {
    const config = { path: 'o-{part}.jsonl', max_records_per_file: 1 };
    store.fail(({ key, query }) =>
      key === 'o-00002.jsonl' && query.has('partNumber')
        ? { status: 403, code: 'AccessDenied' }
        : undefined,
    );
    await expect(write(config, [ids(1, 2)])).rejects.toMatchObject({ kind: 'refused' });
    expect(stored()).toEqual({});
    expect(store.uploads.size).toBe(0);
  });

  test.each<[string, S3Fault]>([
    ['asks to slow down', { status: 503, code: 'SlowDown' }],
    ['resets the connection', { resets: true }],
  ])('a store that %s is sent the object again', async (_name, fault) => {
    failing(2, fault, 'PUT');
    await write({ path: 'a.jsonl' }, [ids(1)]);
    expect(stored()).toEqual({ 'a.jsonl': lines(1) });
  });

  test('objects of a path are replaced, gone on with or refused', async () => {
    const path = 'o-{part}.jsonl';
    await write({ path, max_records_per_file: 1 }, [ids(1, 2)]);
    await write({ path, mode: 'append' }, [ids(3)]);
    expect(Object.keys(stored())).toEqual(['o-00001.jsonl', 'o-00002.jsonl', 'o-00003.jsonl']);
    await expect(write({ path, mode: 'error_if_exists' }, [ids(4)])).rejects.toThrow(
      's3://b/o-00001.jsonl exists already',
    );
    await write({ path }, [ids(5)]);
    expect(stored()).toEqual({ 'o-00001.jsonl': lines(5) });
  });

  test('an overwrite without a path replaces what runs have made, and nothing else', async () => {
    store.put('b', 'out/mine.jsonl', 'kept');
    await write({ prefix: 'out/' }, [ids(1)]);
    await write({ prefix: 'out/', write_mode: 'overwrite' }, [ids(2)]);
    expect(Object.values(stored()).sort()).toEqual(['kept', lines(2)].sort());
  });

  test('records wait in the folder that documents may use', async () => {
    restrictFiles({ root: process.cwd(), refused: [] });
    try {
      await write({ path: 'a.jsonl' }, [ids(1)]);
    } finally {
      restrictFiles(undefined);
    }
    expect(stored()).toEqual({ 'a.jsonl': lines(1) });
  });
});

describe('looking without writing', () => {
  const probe = async (): Promise<readonly string[]> => {
    const checked = check(s3Sink.config, place());
    if (!checked.ok) throw new Error('no config');
    const clock = stillClock('2026-02-01T00:00:00Z');
    const context = sinkContext({ env: testEnv({ clock }) });
    const findings = (await s3Sink.probe?.(checked.value, context)) ?? [];
    return findings.map(({ name, status }) => `${name} ${status}`);
  };

  test('the doctor tries to write, and leaves nothing', async () => {
    expect(await probe()).toEqual(['network pass', 'auth pass']);
    expect(stored()).toEqual({});
    expect(store.uploads.size).toBe(0);
    store.fail(() => ({ status: 403, code: 'AccessDenied' }));
    expect(await probe()).toEqual(['network pass', 'auth fail']);
    store.fail(() => ({ resets: true }));
    expect(await probe()).toEqual(['network fail', 'auth skip']);
  });

  test('discovery lists the next level', async () => {
    store.put('b', 'in/a/x', '');
    store.put('b', 'in/b/x', '');
    store.put('b', 'in/b/y', '');
    const discover = async (prefix: string) => {
      const checked = check(s3Source.config, { ...place(), prefix });
      if (!checked.ok) throw new Error('no config');
      return s3Source.discover?.(checked.value, sourceContext());
    };
    expect(await discover('in/')).toEqual([
      { name: 'in/a/', kind: 'prefix', config_patch: { prefix: 'in/a/' } },
      { name: 'in/b/', kind: 'prefix', config_patch: { prefix: 'in/b/' } },
    ]);
    expect(await discover('in/b/')).toEqual([
      { name: 'in/b/x', kind: 'object', config_patch: { prefix: 'in/b/x' } },
      { name: 'in/b/y', kind: 'object', config_patch: { prefix: 'in/b/y' } },
    ]);
  });
});

test('the address of the data set has no credentials', () => {
  const checked = check(s3Source.config, { ...place(), prefix: 'in/' });
  if (!checked.ok) throw new Error('no config');
  expect(s3Source.datasetUri(checked.value)).toBe('s3://b/in/');
});
