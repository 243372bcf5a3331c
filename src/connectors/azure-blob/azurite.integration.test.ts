/** The source and the sink against Azurite, through a network that breaks off. */
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { tcpProxy, type TcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { AZURE_ACCOUNT, azureContainer, azurite } from '../../../test/servers/object-stores.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { FinishReason } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { azureBlobSink, azureBlobSource } from './index.ts';

const { name: ACCOUNT, key: KEY } = AZURE_ACCOUNT;

describe.skipIf(azurite.reason !== undefined)(`Azurite ${azurite.reason ?? ''}`, () => {
  let server: TestServer;
  let proxy: TcpProxy;
  beforeAll(async () => {
    server = await startOf(azurite);
    proxy = await tcpProxy({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    await azureContainer(server.url, 'data').create();
  }, 90_000);
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });

  const endpoint = (): JsonObject => ({
    endpoint: `http://127.0.0.1:${proxy.port}/${ACCOUNT}`,
    allow_http: true,
  });
  const place = (): JsonObject => ({
    container: 'data',
    account: ACCOUNT,
    auth: { type: 'account_key', config: { account_key: KEY } },
    ...endpoint(),
  });

  interface Writing {
    readonly reason?: FinishReason;
    readonly context?: Partial<SinkContext>;
    readonly place?: JsonObject;
  }

  async function write(
    config: JsonObject,
    records: readonly JsonValue[],
    { reason = 'success', context = {}, place: at = place() }: Writing = {},
  ): Promise<void> {
    const checked = check(azureBlobSink.config, { ...at, ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await azureBlobSink.open(checked.value, sinkContext(context));
    try {
      for (let from = 0; from < records.length; from += 1000)
        await sink.write(Page.ofRecords(records.slice(from, from + 1000)), { partial: false });
      await sink.finish(reason);
    } finally {
      await sink.close();
    }
  }

  const read = async (config: JsonObject, at = place()): Promise<readonly JsonValue[]> =>
    (await runSource(azureBlobSource, { ...at, ...config }, { context: {} })).records;

  const records = Array.from({ length: 500 }, (_, id) => ({ id, v: `v${id}` }));
  const asTexts = records.map(({ id, v }) => ({ id: `${id}`, v }));
  const large = Array.from({ length: 9_000 }, (_, id) => ({ id, v: 'x'.repeat(1000) }));
  const textOf = (all: readonly JsonValue[]): string =>
    all.map((record) => `${JSON.stringify(record)}\n`).join('');
  const stored = async (key: string): Promise<string> =>
    (await azureContainer(server.url, 'data').getBlobClient(key).downloadToBuffer()).toString();
  const names = async (prefix: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { name } of azureContainer(server.url, 'data').listBlobsFlat({ prefix }))
      found.push(name);
    return found;
  };

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
    expect(await read({ prefix, file_format: format })).toEqual(expected);
  });

  test('a large object is sent in blocks, comes back, and has its type', async () => {
    await write({ path: 'large ü.jsonl' }, large);
    expect(await read({ object_keys: ['large ü.jsonl'] })).toEqual(large);
    const blob = azureContainer(server.url, 'data').getBlockBlobClient('large ü.jsonl');
    expect((await blob.getBlockList('committed')).committedBlocks).toHaveLength(2);
    expect((await blob.getProperties()).contentType).toBe('application/x-ndjson');
  });

  test.each(['comp=block&', 'comp=blocklist'])(
    'each block is there once when the answer to %s is lost',
    async (request) => {
      proxy.cutAfter(request);
      const env = testEnv();
      await write({ path: 'cut.jsonl' }, large, { context: { env } });
      expect(env.lines.filter(({ line }) => line.includes('trying again'))).toHaveLength(1);
      expect(await stored('cut.jsonl')).toBe(textOf(large));
    },
  );

  test('a body that breaks off is read on, and each record comes once', async () => {
    await write({ path: 'broken/a.jsonl' }, large);
    const checked = check(azureBlobSource.config, { ...place(), prefix: 'broken/' });
    if (!checked.ok) throw new Error('no config');
    const source = await azureBlobSource.open(checked.value, sourceContext());
    const found: JsonValue[] = [];
    let cuts = 2;
    for await (const page of source.pages({ lane: { form: 'records' } })) {
      found.push(...page.records());
      if (cuts-- > 0) {
        proxy.cut();
        proxy.heal();
      }
    }
    await source.close();
    expect(found).toEqual(large);
  });

  test.each(['failed', 'cancelled'] as const)('a run that is %s leaves nothing', async (reason) => {
    await write({ prefix: 'none/' }, large, { reason });
    expect(await names('none/')).toEqual([]);
  });

  test('a run that is killed while it sends leaves nothing that can be seen', async () => {
    const stop = new AbortController();
    stop.abort(new Error('killed'));
    const killed = write({ prefix: 'killed/' }, large, { context: { signal: stop.signal } });
    await expect(killed).rejects.toThrow('killed');
    expect(await names('killed/')).toEqual([]);
  });

  test('a signature, a connection string and the emulator by its name are logins', async () => {
    const sas = generateBlobSASQueryParameters(
      {
        containerName: 'data',
        permissions: ContainerSASPermissions.parse('racwdl'),
        expiresOn: new Date(Date.now() + 3_600_000),
      },
      new StorageSharedKeyCredential(ACCOUNT, KEY),
    ).toString();
    const { port } = new URL(server.url);
    const string = `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${KEY};BlobEndpoint=${server.url}/${ACCOUNT};`;
    const places: readonly JsonObject[] = [
      { ...endpoint(), auth: { type: 'sas_token', config: { token: `?${sas}` } } },
      { auth: { type: 'connection_string', config: { connection_string: string } } },
      { use_emulator: true, endpoint: `http://127.0.0.1:${port}` },
    ];
    for (const [index, one] of places.entries()) {
      const at = { container: 'data', ...one };
      await write({ path: `logins/${index}.jsonl` }, [{ id: index }], { place: at });
      expect(await read({ object_keys: [`logins/${index}.jsonl`] }, at)).toEqual([{ id: index }]);
    }
  });

  test('a wrong key is told as one, without showing it, and the doctor says so', async () => {
    const wrong = Buffer.from('a wrong key').toString('base64');
    const auth = { type: 'account_key', config: { account_key: wrong } };
    const failure: unknown = await read({ auth }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 403, hint: expect.stringContaining('key') });
    expect(String(failure)).not.toContain(wrong);
    const probe = async (more: JsonObject): Promise<readonly string[] | undefined> => {
      const checked = check(azureBlobSink.config, { ...place(), prefix: 'probe/', ...more });
      if (!checked.ok) throw new Error('no config');
      const findings = await azureBlobSink.probe?.(checked.value, sinkContext());
      return findings?.map(({ name, status }) => `${name} ${status}`);
    };
    expect(await probe({ auth })).toEqual(['network pass', 'auth fail']);
    expect(await probe({ container: 'absent' })).toEqual(['network pass', 'auth fail']);
    expect(await probe({})).toEqual(['network pass', 'auth pass']);
    expect(await names('probe/')).toEqual([]);
  });

  test('discovery lists the next level', async () => {
    await write({ path: 'tree/a/x.jsonl' }, [{ id: 1 }]);
    await write({ path: 'tree/b/x.jsonl' }, [{ id: 2 }]);
    const discover = async (prefix: string) => {
      const checked = check(azureBlobSource.config, { ...place(), prefix });
      if (!checked.ok) throw new Error('no config');
      return azureBlobSource.discover?.(checked.value, sourceContext());
    };
    expect(await discover('tree/')).toEqual([
      { name: 'tree/a/', kind: 'prefix', config_patch: { prefix: 'tree/a/' } },
      { name: 'tree/b/', kind: 'prefix', config_patch: { prefix: 'tree/b/' } },
    ]);
    expect(await discover('tree/a/')).toEqual([
      {
        name: 'tree/a/x.jsonl',
        kind: 'object',
        config_patch: { object_keys: ['tree/a/x.jsonl'], prefix: null },
      },
    ]);
  });

  test('only names behind the last one', async () => {
    const config = { prefix: 'new/', incremental: { by: 'name' } };
    const run = (more: JsonObject) =>
      runSource(azureBlobSource, { ...place(), ...config }, { ...more, context: {} });
    await write({ path: 'new/1.jsonl' }, [{ id: 1 }]);
    const first = await run({});
    expect(first.records).toEqual([{ id: 1 }]);
    await write({ path: 'new/2.jsonl' }, [{ id: 2 }]);
    expect((await run({ bookmark: first.bookmark ?? null })).records).toEqual([{ id: 2 }]);
  });
});
