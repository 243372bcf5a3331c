/** What both stores owe beyond the contract of triggers: many pages, and failures told by their kind. */
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  gcs,
  makeBucket,
  minio,
  s3Client,
  S3_VARIABLES,
} from '../../../test/servers/object-stores.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { ConnectorError } from '../errors.ts';
import { openGcs } from './gcs-objects.ts';
import { openS3 } from './s3-objects.ts';
import type { ListRequest, StoredObject } from './object-store.ts';

/** More than a page of either. */
const MANY = 1005;
const AT_ONCE = 50;

async function putMany(put: (key: string) => Promise<unknown>): Promise<void> {
  let next = 0;
  const keepPutting = async (): Promise<void> => {
    while (next < MANY) await put(`in/${next++}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, keepPutting));
}

interface Lists {
  list(request: ListRequest): AsyncIterable<readonly StoredObject[]>;
}

async function listed(store: Lists): Promise<{ keys: Set<string>; pages: number }> {
  const keys = new Set<string>();
  let pages = 0;
  const { signal } = new AbortController();
  for await (const page of store.list({ prefix: 'in/', signal })) {
    pages += 1;
    for (const { key } of page) keys.add(key);
  }
  return { keys, pages };
}

async function failureOf(store: Lists): Promise<ConnectorError> {
  const error: unknown = await listed(store).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ConnectorError) return error;
  throw new Error(`it gave ${String(error)}`);
}

describe.skipIf(minio.reason !== undefined)(`objects of S3 ${minio.reason ?? ''}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startOf(minio);
    for (const [name, value] of Object.entries(S3_VARIABLES)) vi.stubEnv(name, value);
    await makeBucket(server.url, 'bucket');
    const client = s3Client(server.url);
    await putMany((Key) =>
      client.send(new PutObjectCommand({ Bucket: 'bucket', Key, Body: 'abc' })),
    );
  }, 90_000);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.stop();
  });
  const usual = { region: undefined, login: undefined, pathStyle: undefined };
  const open = (bucket: string) => openS3({ bucket, endpoint: server.url, ...usual });

  test('are listed over several pages', async () => {
    const { keys, pages } = await listed(await open('bucket'));
    expect([keys.size, pages]).toEqual([MANY, 2]);
  });

  test('of a bucket that is not there, or with wrong credentials, are told apart', async () => {
    expect(await failureOf(await open('absent'))).toMatchObject({ kind: 'missing' });
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong-secret-key');
    const failure = await failureOf(await open('bucket'));
    expect(failure).toMatchObject({ kind: 'auth', status: 403 });
    expect(failure.message).not.toContain('wrong-secret-key');
  });
});

describe.skipIf(gcs.reason !== undefined)(
  `objects of Google Cloud Storage ${gcs.reason ?? ''}`,
  () => {
    let server: TestServer;
    const post = (path: string, body: string): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    beforeAll(async () => {
      server = await startOf(gcs);
      await post('/storage/v1/b?project=test', '{"name": "bucket"}');
      await putMany(async (key) =>
        (
          await post(
            `/upload/storage/v1/b/bucket/o?uploadType=media&name=${encodeURIComponent(key)}`,
            'abc',
          )
        ).text(),
      );
    }, 90_000);
    afterAll(() => server.stop());
    const open = (bucket: string) => openGcs({ bucket, endpoint: server.url, auth: undefined });

    test('are listed over several pages', async () => {
      const { keys, pages } = await listed(await open('bucket'));
      expect([keys.size, pages]).toEqual([MANY, 2]);
    });

    test('of a bucket that is not there are reported as missing', async () => {
      expect(await failureOf(await open('absent'))).toMatchObject({ kind: 'missing' });
    });
  },
);
