import { describe, expect, test } from 'vitest';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer } from '../../../test/fakes/http-server.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { azureBlobSink, azureBlobSource } from './index.ts';

const issues = (config: JsonObject): readonly string[] => {
  const checked = check(azureBlobSource.config, { container: 'c', ...config });
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
};

const key = { type: 'account_key', config: { account_key: 'a2V5' } };
const string = {
  type: 'connection_string',
  config: { connection_string: 'AccountName=a;AccountKey=sEcReT' },
};

describe('where the container is', () => {
  test.each<[string, JsonObject]>([
    ['an account', { account: 'a' }],
    ['what the machine says', {}],
    ['an address', { endpoint: 'https://a.blob.core.windows.net' }],
    ['a connection string', { auth: string }],
    ['a connection string and the account that it names', { account: 'a', auth: string }],
    [
      'a connection string and the address that it names',
      {
        endpoint: 'https://h/',
        auth: {
          type: 'connection_string',
          config: { connection_string: 'BlobEndpoint=https://h;SharedAccessSignature=s' },
        },
      },
    ],
    ['an emulator', { use_emulator: true }],
    ['an emulator at another address', { use_emulator: true, endpoint: 'http://azurite:10000' }],
    ['a plain address that is allowed', { endpoint: 'http://h/a', allow_http: true }],
  ])('%s is enough', (_name, config) => {
    expect(issues(config)).toEqual([]);
  });

  test.each<[string, JsonObject, string]>([
    ['a plain address', { endpoint: 'http://h/a' }, 'endpoint: this address is not encrypted'],
    [
      'another account than that of the connection string',
      { account: 'b', auth: string },
      'account: the connection string names another `account`',
    ],
    [
      'a checksum that nobody has',
      { account: 'a', verify_checksum: true },
      'verify_checksum: the store has no checksum to compare objects with',
    ],
  ])('%s is refused', (_name, config, issue) => {
    expect(issues(config)).toEqual([issue]);
  });

  test('an account that the document does not name is that of the machine', async () => {
    await using server = await startHttpServer([{ status: 403 }]);
    const config = {
      container: 'c',
      endpoint: `${server.url}/a`,
      allow_http: true,
      auth: key,
      object_keys: ['x.jsonl'],
    };
    const reading = (variables: Record<string, string>) =>
      runSource(azureBlobSource, config, { context: { env: testEnv({ variables }) } });
    await expect(reading({})).rejects.toThrow('the storage account is not named');
    await reading({ AZURE_STORAGE_ACCOUNT: 'of-machine' }).catch(() => undefined);
    expect(server.requests[0]?.headers['authorization']).toMatch(/^SharedKey of-machine:/);
  });

  test('a connection string that cannot be read is told without showing it', async () => {
    const checked = check(azureBlobSource.config, { container: 'c', auth: string });
    if (!checked.ok) throw new Error('no config');
    const failure: unknown = await azureBlobSource
      .open(checked.value, sourceContext())
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'auth' });
    expect(String(failure)).not.toContain('sEcReT');
  });

  test('a key and a signature have shorter names as well', () => {
    const token = { type: 'sas_token', config: { token: 'sv=1&sig=x' } };
    expect(issues({ account: 'a', auth: { ...key, config: { key: 'a2V5' } } })).toEqual([]);
    expect(issues({ account: 'a', auth: token })).toEqual([]);
  });

  test('the address of the data set has no credentials', () => {
    const config = { container: 'c', account: 'a', auth: key, prefix: 'in/' };
    const source = check(azureBlobSource.config, config);
    const sink = check(azureBlobSink.config, config);
    if (!source.ok || !sink.ok) throw new Error('no config');
    expect(azureBlobSource.datasetUri(source.value)).toBe('az://c/in/');
    expect(azureBlobSink.datasetUri(sink.value)).toBe('az://c/in/');
  });
});
