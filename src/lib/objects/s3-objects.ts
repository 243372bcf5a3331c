/** Objects of Amazon S3 and compatible stores. */
import type { Readable } from 'node:stream';
import type * as S3 from '@aws-sdk/client-s3';
import { awsClientSettings, type AwsPlace, type AwsRequests } from '../aws/client-settings.ts';
import { awsError } from '../aws/errors.ts';
import { ConnectorError } from '../errors.ts';
import { loadClient } from '../load-client.ts';
import { momentAfter } from '../moment-after.ts';
import {
  onceOnly,
  isNew,
  type Checksums,
  type CreateRequest,
  type ListRequest,
  type ObjectContent,
  type ObjectLevel,
  type ObjectStore,
  type ObjectUpload,
  type ReadObject,
  type RunRequest,
  type StoredObject,
  type UploadRequest,
} from './object-store.ts';
import { blocksOf } from './content-blocks.ts';
import { PartUpload } from './part-upload.ts';
import { S3Parts } from './s3-parts.ts';

export interface S3Place extends AwsPlace {
  readonly bucket: string;
  /** Whether the bucket stands in the path of addresses and not in the host name. */
  readonly pathStyle: boolean | undefined;
}

export interface S3Requests extends AwsRequests {
  readonly run: RunRequest;
}

const CONFLICT = 409;
const PRECONDITION_FAILED = 412;
const LEVEL_KEYS = 1000;
const ONE_LOOK: S3Requests = { attempts: 2, requestMs: 30_000, run: onceOnly };

export async function openS3(place: S3Place, requests = ONE_LOOK): Promise<ObjectStore> {
  const sdk = await loadClient('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));
  const { bucket, endpoint, pathStyle } = place;
  const client = new sdk.S3Client({
    ...(await awsClientSettings(place, requests)),
    // A compatible store seldom has a host name for each bucket.
    forcePathStyle: pathStyle ?? endpoint !== undefined,
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return new S3Store(sdk, client, { bucket, run: requests.run });
}

class S3Store implements ObjectStore {
  readonly address: string;
  readonly #sdk: typeof S3;
  readonly #client: S3.S3Client;
  readonly #bucket: string;
  readonly #run: RunRequest;

  constructor(
    sdk: typeof S3,
    client: S3.S3Client,
    { bucket, run }: { readonly bucket: string; readonly run: RunRequest },
  ) {
    this.#sdk = sdk;
    this.#client = client;
    this.#bucket = bucket;
    this.#run = run;
    this.address = `s3://${bucket}/`;
  }

  async *list({ prefix, after, signal }: ListRequest): AsyncGenerator<readonly StoredObject[]> {
    let token: string | undefined;
    do {
      const ContinuationToken = token;
      const listed = await this.#ask(this.#listing, signal, () =>
        this.#client.send(
          new this.#sdk.ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: prefix,
            StartAfter: after,
            ContinuationToken,
          }),
          { abortSignal: signal },
        ),
      );
      yield (listed.Contents ?? []).flatMap(objectOf);
      token = listed.IsTruncated === true ? listed.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  get #listing(): string {
    return `the objects of the bucket \`${this.#bucket}\` cannot be listed`;
  }

  async level({ prefix, signal }: ListRequest): Promise<ObjectLevel> {
    const listed = await this.#ask(this.#listing, signal, () =>
      this.#client.send(
        new this.#sdk.ListObjectsV2Command({
          Bucket: this.#bucket,
          Prefix: prefix,
          Delimiter: '/',
          MaxKeys: LEVEL_KEYS,
        }),
        { abortSignal: signal },
      ),
    );
    return {
      prefixes: (listed.CommonPrefixes ?? []).flatMap(({ Prefix }) => Prefix ?? []),
      objects: (listed.Contents ?? []).flatMap(objectOf),
    };
  }

  async look(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const { ContentLength, LastModified, ETag } = await this.#ask(
        `${this.address}${key} cannot be looked at`,
        signal,
        () =>
          this.#client.send(new this.#sdk.HeadObjectCommand({ Bucket: this.#bucket, Key: key }), {
            abortSignal: signal,
          }),
      );
      return {
        key,
        size: ContentLength ?? 0,
        lastModified: LastModified ?? new Date(0),
        version: ETag ?? '',
      };
    } catch (error) {
      if (error instanceof ConnectorError && error.status === 404) return undefined;
      throw error;
    }
  }

  async read(key: string, request: ReadObject): Promise<ObjectContent> {
    const { from = 0, to, version, checksums, signal } = request;
    const isPart = from > 0 || to !== undefined;
    const name = `${this.address}${key}`;
    const got = await this.#ask(`${name} cannot be read`, signal, () =>
      this.#client.send(
        new this.#sdk.GetObjectCommand({
          Bucket: this.#bucket,
          Key: key,
          ...(isPart ? { Range: `bytes=${from}-${to === undefined ? '' : to - 1}` } : {}),
          ...(version === undefined || version === '' ? {} : { IfMatch: version }),
          ...(checksums === true ? { ChecksumMode: 'ENABLED' as const } : {}),
        }),
        { abortSignal: signal },
      ),
    );
    const body = got.Body as Readable;
    return {
      length: got.ContentLength,
      version: got.ETag,
      checksums: isPart ? {} : checksumsOf(got),
      blocks: blocksOf(body, { name, signal }),
      cancel: () => body.destroy(),
    };
  }

  upload(key: string, request: UploadRequest): ObjectUpload {
    const { contentType, signal } = request;
    const target = new S3Parts(this.#sdk, this.#client, {
      place: { Bucket: this.#bucket, Key: key },
      contentType,
      signal,
      ask: (send) => this.#ask(`${this.address}${key} cannot be written`, signal, send),
      askAnyway: (send) => {
        const abortSignal = momentAfter(signal);
        const failing = `${this.address}${key} cannot be removed`;
        return this.#ask(failing, abortSignal, () => send({ abortSignal }));
      },
      look: () => this.look(key, signal),
    });
    return new PartUpload(target, request);
  }

  async create(
    Key: string,
    Body: Buffer,
    { contentType: ContentType, signal }: CreateRequest,
  ): Promise<boolean> {
    const place = { Bucket: this.#bucket, Key };
    const put = new this.#sdk.PutObjectCommand({ ...place, Body, ContentType, IfNoneMatch: '*' });
    return isNew(
      this.#ask(`${this.address}${Key} cannot be written`, signal, () =>
        this.#client.send(put, { abortSignal: signal }).catch((error: unknown) => {
          throw underWay(error);
        }),
      ),
      [PRECONDITION_FAILED],
    );
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#ask(`${this.address}${key} cannot be removed`, signal, () =>
      this.#client.send(new this.#sdk.DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), {
        abortSignal: signal,
      }),
    );
  }

  /** An upload in parts that is never completed. */
  async tryWrite(key: string, signal: AbortSignal): Promise<void> {
    const place = { Bucket: this.#bucket, Key: key };
    const failing = `${this.address}${key} cannot be written`;
    const { UploadId } = await this.#ask(failing, signal, () =>
      this.#client.send(new this.#sdk.CreateMultipartUploadCommand(place), {
        abortSignal: signal,
      }),
    );
    await this.#ask(failing, signal, () =>
      this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ ...place, UploadId })),
    );
  }

  close(): void {
    this.#client.destroy();
  }

  /** `failing` is what cannot be done, for messages. */
  async #ask<T>(failing: string, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    return this.#run(failing, signal, async () => {
      try {
        return await send();
      } catch (error) {
        signal.throwIfAborted();
        throw awsError(error, failing);
      }
    });
  }
}

/** Another writer of the same object is not through yet: the next attempt tells whether it was. */
function underWay(error: unknown): unknown {
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  return $metadata?.httpStatusCode === CONFLICT
    ? new ConnectorError('connection', 'another writer of the same object is under way', {
        cause: error,
        status: CONFLICT,
      })
    : error;
}

function objectOf({ Key, Size, LastModified, ETag }: S3._Object): StoredObject[] {
  if (Key === undefined || LastModified === undefined) return [];
  return [{ key: Key, size: Size ?? 0, lastModified: LastModified, version: ETag ?? '' }];
}

/** Those of an object of several parts are digests of digests, unless the store says otherwise. */
function checksumsOf(got: S3.GetObjectCommandOutput): Checksums {
  const isWhole = got.ChecksumType !== 'COMPOSITE';
  const plain = (value: string | undefined): string | undefined =>
    isWhole && value !== undefined && !value.includes('-') ? value : undefined;
  const tag = /^"?([0-9a-f]{32})"?$/.exec(got.ETag ?? '')?.[1];
  const encrypted = got.ServerSideEncryption === 'aws:kms' || got.SSECustomerKeyMD5 !== undefined;
  const found: Record<keyof Checksums, string | undefined> = {
    sha256: plain(got.ChecksumSHA256),
    crc64nvme: plain(got.ChecksumCRC64NVME),
    crc32c: plain(got.ChecksumCRC32C),
    crc32: plain(got.ChecksumCRC32),
    md5: tag === undefined || encrypted ? undefined : Buffer.from(tag, 'hex').toString('base64'),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}
