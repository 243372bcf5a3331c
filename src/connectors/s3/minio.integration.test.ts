/** The same source and sink against MinIO, which checks what the fake of other tests does not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { makeBucket, minio, S3_KEYS } from '../../../test/servers/object-stores.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { s3Sink, s3Source } from './index.ts';

describe.skipIf(minio.reason !== undefined)(`MinIO ${minio.reason ?? ''}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startOf(minio);
    await makeBucket(server.url, 'bucket');
  }, 90_000);
  afterAll(() => server.stop());

  const place = (): JsonObject => ({
    bucket: 'bucket',
    endpoint_url: server.url,
    credentials: {
      type: 'access_key',
      config: {
        access_key_id: S3_KEYS.accessKeyId,
        secret_access_key: S3_KEYS.secretAccessKey,
      },
    },
  });

  async function write(config: JsonObject, records: readonly JsonValue[]): Promise<void> {
    const checked = check(s3Sink.config, { ...place(), ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await s3Sink.open(checked.value, sinkContext());
    try {
      for (let from = 0; from < records.length; from += 1000)
        await sink.write(Page.ofRecords(records.slice(from, from + 1000)), { partial: false });
      await sink.finish('success');
    } finally {
      await sink.close();
    }
  }

  const read = async (config: JsonObject): Promise<readonly JsonValue[]> =>
    (await runSource(s3Source, { ...place(), ...config }, { context: {} })).records;

  const records = Array.from({ length: 500 }, (_, id) => ({ id, v: `v${id}` }));
  const asTexts = records.map(({ id, v }) => ({ id: `${id}`, v }));

  test.each([
    ['json_lines', '.jsonl', records],
    ['json_lines', '.jsonl.gz', records],
    ['json_array', '.json.zst', records],
    ['csv', '.csv', asTexts],
    ['xml', '.xml', asTexts],
    ['xlsx', '.xlsx', records],
    ['parquet', '.parquet', records],
    ['avro', '.avro', records],
  ])('%s in objects that end in %s comes back', async (format, extension, expected) => {
    const prefix = `formats/${format}${extension}/`;
    await write({ prefix, format, file_extension: extension }, records);
    expect(await read({ prefix, file_format: format, verify_checksum: true })).toEqual(expected);
  });

  test('an object of several parts comes back, compared with its checksum', async () => {
    const large = Array.from({ length: 20_000 }, (_, id) => ({ id, v: 'x'.repeat(1000) }));
    await write({ path: 'large.jsonl' }, large);
    expect(await read({ object_keys: ['large.jsonl'], verify_checksum: true })).toEqual(large);
    expect(await read({ prefix: 'large' })).toHaveLength(20_000);
  });

  test('empty objects, one of several and one alone', async () => {
    await write({ path: 'empty.jsonl', write_mode: 'overwrite' }, []);
    expect(await read({ prefix: 'empty' })).toEqual([]);
  });

  test('a wrong secret is told as one, and the doctor says so', async () => {
    const credentials = {
      type: 'access_key',
      config: { access_key_id: S3_KEYS.accessKeyId, secret_access_key: 'wrong' },
    };
    await expect(read({ credentials })).rejects.toMatchObject({ kind: 'auth', status: 403 });
    const checked = check(s3Sink.config, { ...place(), credentials });
    if (!checked.ok) throw new Error('no config');
    const findings = await s3Sink.probe?.(checked.value, sinkContext());
    expect(findings?.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'network pass',
      'auth fail',
    ]);
  });

  test('only what was stored since the last run is read', async () => {
    const config = { prefix: 'new/', incremental: { by: 'mtime' }, stable_for_secs: 0 };
    await write({ prefix: 'new/' }, [{ id: 1 }]);
    const run = (more: JsonObject) =>
      runSource(s3Source, { ...place(), ...config }, { ...more, context: {} });
    const first = await run({});
    expect(first.records).toEqual([{ id: 1 }]);
    await systemClock.sleep(1100);
    await write({ prefix: 'new/' }, [{ id: 2 }]);
    expect((await run({ bookmark: first.bookmark ?? null })).records).toEqual([{ id: 2 }]);
  });
});
