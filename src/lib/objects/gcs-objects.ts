/** Objects of Google Cloud Storage. */
import type { Bucket, File } from '@google-cloud/storage';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { loadClient } from '../load-client.ts';
import { untilStopped } from '../until-stopped.ts';
import type { ListRequest, StoredObject } from './object-store.ts';

export interface GcsPlace {
  readonly bucket: string;
  readonly endpoint?: string | undefined;
}

const PACKAGE = '@google-cloud/storage';
const PAGE = 1000;
const REQUEST_MS = 30_000;
const RETRY_SECS = 5;

/** Credentials are those that the client finds: a file, or the account of the machine. */
export async function openGcs({ bucket, endpoint }: GcsPlace) {
  const { Storage } = await loadClient(PACKAGE, () => import('@google-cloud/storage'));
  const storage = new Storage({
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint }),
    timeout: REQUEST_MS,
    retryOptions: { autoRetry: true, maxRetries: 1, totalTimeout: RETRY_SECS },
  });
  const found = storage.bucket(bucket);
  return {
    list: async function* ({ prefix, signal }: ListRequest) {
      let token: string | undefined;
      do {
        const page = await untilStopped(askPage(found, prefix, token), signal);
        yield page.objects;
        token = page.next;
      } while (token !== undefined);
    },
    close: (): void => {},
  };
}

interface Page {
  readonly objects: readonly StoredObject[];
  readonly next: string | undefined;
}

async function askPage(bucket: Bucket, prefix: string, token: string | undefined): Promise<Page> {
  try {
    const [files, next] = await bucket.getFiles({
      prefix,
      autoPaginate: false,
      maxResults: PAGE,
      ...(token === undefined ? {} : { pageToken: token }),
    });
    const following = (next as { readonly pageToken?: string } | null)?.pageToken;
    return { objects: files.flatMap(objectOf), next: following };
  } catch (error) {
    throw gcsError(error, bucket.name);
  }
}

function objectOf({ name, metadata }: File): StoredObject[] {
  const { updated, size, generation } = metadata;
  if (updated === undefined) return [];
  return [
    {
      key: name,
      size: Number(size ?? 0),
      lastModified: new Date(updated),
      version: String(generation ?? ''),
    },
  ];
}

function gcsError(error: unknown, bucket: string): ConnectorError {
  const { code } = error as { readonly code?: unknown };
  const status = typeof code === 'number' ? code : undefined;
  return new ConnectorError(
    kindOf(status, messageOf(error)),
    `the objects of the bucket \`${bucket}\` cannot be listed: ${messageOf(error)}`,
    { cause: error, ...(status === undefined ? {} : { status }) },
  );
}

function kindOf(status: number | undefined, message: string): ConnectorErrorKind {
  if (/default credentials|invalid_grant/i.test(message)) return 'auth';
  switch (status) {
    case 401:
      return 'auth';
    case 403:
      return 'refused';
    case 404:
      return 'missing';
    case 429:
      return 'rate_limited';
    case undefined:
      return 'connection';
    default:
      return status >= 500 ? 'http_5xx' : 'data';
  }
}
