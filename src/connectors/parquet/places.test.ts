/** Files in stores: their addresses, where they are read back, and which places are refused. */
import { expect, test } from 'vitest';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parquetSink, parquetSource } from './index.ts';

const AZURE = { type: 'azure-blob', container: 'c', use_emulator: true };

test.each<[JsonObject, string]>([
  [{ type: 's3', bucket: 'b', endpoint_url: 'http://h', allow_http: true }, 's3://b/out/'],
  [{ type: 'gcs', bucket: 'b', storage_host: 'http://h' }, 'gs://b/out/'],
  [AZURE, 'az://c/out/'],
  [{ ...AZURE, use_emulator: false, endpoint: 'http://h/a', allow_http: true }, 'az://c/out/'],
])('files in %o have an address, and are read back from there', (place, address) => {
  const sink = check(parquetSink.config, { destination: { ...place, prefix: 'out/' } });
  if (!sink.ok) throw new Error(JSON.stringify(sink.issues));
  expect(parquetSink.datasetUri(sink.value)).toBe(address);
  const source = check(parquetSource.config, parquetSink.readBack?.(sink.value)?.config ?? {});
  if (!source.ok) throw new Error(JSON.stringify(source.issues));
  expect(parquetSource.datasetUri(source.value)).toBe(address);
});

test('a plain address of Azure, and a source of nothing in particular, are refused', () => {
  const plain = { type: 'azure-blob', container: 'c', endpoint: 'http://h/a' };
  expect(check(parquetSink.config, { destination: plain })).toMatchObject({
    ok: false,
    issues: [{ path: 'destination.endpoint' }],
  });
  for (const place of [{ type: 'gcs', bucket: 'b' }, AZURE])
    for (const what of [{}, { key: 'k', prefix: 'p' }])
      expect(check(parquetSource.config, { source: { ...place, ...what } })).toMatchObject({
        ok: false,
        issues: [{ path: 'source.key' }],
      });
});
