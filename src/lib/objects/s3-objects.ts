/** Objects of Amazon S3 and compatible stores. */
import type {
  ListObjectsV2Command,
  ListObjectsV2CommandOutput,
  S3Client,
} from '@aws-sdk/client-s3';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import type { ListObjects, StoredObject } from './stored-object.ts';

export interface S3Place {
  readonly bucket: string;
  readonly prefix: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
}

const CONNECT_MS = 5000;
const REQUEST_MS = 30_000;
/** Compatible stores take any; the client asks for one. */
const ANY_REGION = 'us-east-1';

export interface S3Objects {
  readonly list: ListObjects;
  close(): void;
}

/** Credentials are those that the client finds: variables, profiles, the role of the machine. */
export async function openS3(place: S3Place): Promise<S3Objects> {
  const { S3Client: Client, ListObjectsV2Command: ListCommand } =
    await import('@aws-sdk/client-s3');
  const { bucket, prefix, endpoint } = place;
  const region = place.region ?? (endpoint === undefined ? undefined : ANY_REGION);
  const client = new Client({
    ...(region === undefined ? {} : { region }),
    // A compatible store seldom has a host name for each bucket.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    maxAttempts: 2,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS },
  });
  const page = (token: string | undefined): ListObjectsV2Command =>
    new ListCommand({ Bucket: bucket, Prefix: prefix, ContinuationToken: token });
  return {
    list: async function* (signal) {
      let token: string | undefined;
      do {
        const listed = await ask(client, page(token), { bucket, signal });
        yield (listed.Contents ?? []).flatMap(objectOf);
        token = listed.IsTruncated === true ? listed.NextContinuationToken : undefined;
      } while (token !== undefined);
    },
    close: () => client.destroy(),
  };
}

async function ask(
  client: S3Client,
  command: ListObjectsV2Command,
  { bucket, signal }: { readonly bucket: string; readonly signal: AbortSignal },
): Promise<ListObjectsV2CommandOutput> {
  try {
    return await client.send(command, { abortSignal: signal });
  } catch (error) {
    throw s3Error(error, bucket);
  }
}

function objectOf({
  Key,
  Size,
  LastModified,
  ETag,
}: NonNullable<ListObjectsV2CommandOutput['Contents']>[number]): StoredObject[] {
  if (Key === undefined || LastModified === undefined) return [];
  return [{ key: Key, size: Size ?? 0, lastModified: LastModified, version: ETag ?? '' }];
}

function s3Error(error: unknown, bucket: string): ConnectorError {
  const { name = '', $metadata } = error as {
    readonly name?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  return new ConnectorError(
    kindOf(name, status),
    `the objects of the bucket \`${bucket}\` cannot be listed: ${messageOf(inner) || name}`,
    { cause: error, ...(status === undefined ? {} : { status }) },
  );
}

function kindOf(name: string, status: number | undefined): ConnectorErrorKind {
  if (name === 'NoSuchBucket') return 'missing';
  if (/Credential|InvalidAccessKeyId|SignatureDoesNotMatch|Token/.test(name)) return 'auth';
  if (status === 403) return 'refused';
  if (status === 429 || name === 'SlowDown') return 'rate_limited';
  if (name === 'TimeoutError') return 'timeout';
  if (status === undefined) return 'connection';
  return status >= 500 ? 'http_5xx' : 'data';
}
