/** The same source and sink against fake-gcs-server, which others use for their tests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext, sourceContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { gcs } from '../../../test/servers/object-stores.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { gcsSink, gcsSource } from './index.ts';

describe.skipIf(gcs.reason !== undefined)(`fake-gcs-server ${gcs.reason ?? ''}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startOf(gcs);
    const made = await fetch(`${server.url}/storage/v1/b?project=test`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bucket' }),
    });
    expect(made.ok).toBe(true);
  }, 90_000);
  afterAll(() => server.stop());

  const place = (): JsonObject => ({ bucket: 'bucket', storage_host: server.url });

  async function write(config: JsonObject, records: readonly JsonValue[]): Promise<void> {
    const checked = check(gcsSink.config, { ...place(), ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await gcsSink.open(checked.value, sinkContext());
    try {
      for (let from = 0; from < records.length; from += 1000)
        await sink.write(Page.ofRecords(records.slice(from, from + 1000)), { partial: false });
      await sink.finish('success');
    } finally {
      await sink.close();
    }
  }

  const read = async (config: JsonObject): Promise<readonly JsonValue[]> =>
    (await runSource(gcsSource, { ...place(), ...config }, { context: {} })).records;

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
    await write({ path: 'large ü.jsonl' }, large);
    expect(await read({ object_keys: ['large ü.jsonl'], verify_checksum: true })).toEqual(large);
    await write({ path: 'cut/{part}.jsonl', max_records_per_file: 9000 }, large);
    expect(await read({ prefix: 'cut/' })).toEqual(large);
  });

  test('empty objects', async () => {
    await write({ path: 'empty.jsonl', write_mode: 'overwrite' }, []);
    expect(await read({ prefix: 'empty' })).toEqual([]);
  });

  test('the doctor leaves nothing, and discovery finds what is there', async () => {
    await write({ path: 'tree/a/x.jsonl' }, [{ id: 1 }]);
    const sink = check(gcsSink.config, { ...place(), prefix: 'tree/' });
    const source = check(gcsSource.config, { ...place(), prefix: 'tree/' });
    if (!sink.ok || !source.ok) throw new Error('no config');
    const findings = await gcsSink.probe?.(sink.value, sinkContext());
    expect(findings?.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'network pass',
      'auth pass',
    ]);
    expect(await gcsSource.discover?.(source.value, sourceContext())).toEqual([
      { name: 'tree/a/', kind: 'prefix', config_patch: { prefix: 'tree/a/' } },
    ]);
  });

  test('a bucket that is not there is told as one', async () => {
    await expect(read({ bucket: 'absent' })).rejects.toMatchObject({ kind: 'missing' });
  });

  test('only what was stored since the last run is read', async () => {
    const config = { prefix: 'new/', incremental: { by: 'name' } };
    await write({ path: 'new/1.jsonl' }, [{ id: 1 }]);
    const run = (more: JsonObject) =>
      runSource(gcsSource, { ...place(), ...config }, { ...more, context: {} });
    const first = await run({});
    expect(first.records).toEqual([{ id: 1 }]);
    await write({ path: 'new/2.jsonl' }, [{ id: 2 }]);
    expect((await run({ bookmark: first.bookmark ?? null })).records).toEqual([{ id: 2 }]);
  });
});
