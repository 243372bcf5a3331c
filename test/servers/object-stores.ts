/** Stores of objects for tests: MinIO, and emulators of Google Cloud Storage and Azure. */
import { S3Client, CreateBucketCommand, ListBucketsCommand } from '@aws-sdk/client-s3';
import { join } from 'node:path';
import { ContainerClient } from '@azure/storage-blob';
import {
  AZURITE_FOLDER,
  freePort,
  programOf,
  serverFolder,
  serverOrReason,
  startServer,
  type TestServer,
} from './test-servers.ts';

export const S3_KEYS = { accessKeyId: 'headgate', secretAccessKey: 'headgate-secret-key' } as const;
/** As the client of the product finds them. */
export const S3_VARIABLES = {
  AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
} as const;

export const minio = serverOrReason('minio', startMinio);
export const gcs = serverOrReason('fake-gcs-server', startGcs);
export const azurite = serverOrReason('azurite', startAzurite);

/** The account that emulators have. */
export const AZURE_ACCOUNT = {
  name: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
} as const;

export function s3Client(endpoint: string): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: S3_KEYS,
  });
}

async function startMinio(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('minio')];
  return startServer({
    argv: [programOf('minio'), 'server', '--quiet', '--address', `127.0.0.1:${port}`, folder],
    variables: {
      MINIO_ROOT_USER: S3_KEYS.accessKeyId,
      MINIO_ROOT_PASSWORD: S3_KEYS.secretAccessKey,
      MINIO_BROWSER: 'off',
    },
    port,
    folder,
    survives: ['SIGTERM', 'SIGKILL'],
    isReady: (url) => s3Client(url).send(new ListBucketsCommand({})),
  });
}

export async function makeBucket(endpoint: string, bucket: string): Promise<void> {
  await s3Client(endpoint).send(new CreateBucketCommand({ Bucket: bucket }));
}

async function startGcs(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('gcs')];
  return startServer({
    argv: [
      programOf('fake-gcs-server'),
      '-scheme=http',
      '-host=127.0.0.1',
      `-port=${port}`,
      '-backend=memory',
      `-public-host=127.0.0.1:${port}`,
      `-external-url=http://127.0.0.1:${port}`,
    ],
    port,
    folder,
    isReady: (url) => fetch(`${url}/storage/v1/b?project=test`),
  });
}

async function startAzurite(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('azurite')];
  return startServer({
    argv: [
      process.execPath,
      join(AZURITE_FOLDER, 'node_modules/azurite/dist/src/blob/main.js'),
      '--blobHost=127.0.0.1',
      `--blobPort=${port}`,
      '--inMemoryPersistence',
      '--skipApiVersionCheck',
      '--disableTelemetry',
      '--silent',
    ],
    port,
    folder,
    isReady: (url) => fetch(url),
  });
}

export function azureContainer(url: string, name: string): ContainerClient {
  const { name: account, key } = AZURE_ACCOUNT;
  const string = `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${url}/${account};`;
  return new ContainerClient(string, name);
}
