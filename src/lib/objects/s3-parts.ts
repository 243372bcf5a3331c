/** The requests by which one object of S3 is written, as a whole or in parts. */
import type * as S3 from '@aws-sdk/client-s3';
import { ConnectorError } from '../errors.ts';
import type { StoredObject } from './object-store.ts';
import type { PartTarget } from './part-upload.ts';

type Ask = <T>(send: () => Promise<T>) => Promise<T>;

interface Writing {
  readonly place: { readonly Bucket: string; readonly Key: string };
  readonly contentType: string;
  readonly ask: Ask;
  /** The same for a moment after a stop, too. */
  readonly askAnyway: <T>(
    send: (options: { readonly abortSignal: AbortSignal }) => Promise<T>,
  ) => Promise<T>;
  readonly look: () => Promise<StoredObject | undefined>;
  readonly signal: AbortSignal;
}

export class S3Parts implements PartTarget {
  readonly mostParts = 10_000;
  readonly #sdk: typeof S3;
  readonly #client: S3.S3Client;
  readonly #writing: Writing;
  readonly #parts: S3.CompletedPart[] = [];
  #id: Promise<string> | undefined;

  constructor(sdk: typeof S3, client: S3.S3Client, writing: Writing) {
    this.#sdk = sdk;
    this.#client = client;
    this.#writing = writing;
  }

  async putWhole(Body: Buffer): Promise<void> {
    const { place, contentType: ContentType, ask, signal: abortSignal } = this.#writing;
    const command = { ...place, Body, ContentType };
    await ask(() => this.#client.send(new this.#sdk.PutObjectCommand(command), { abortSignal }));
  }

  async putPart(Body: Buffer, index: number): Promise<void> {
    const { place, ask, signal: abortSignal } = this.#writing;
    const UploadId = await (this.#id ??= this.#begin());
    const PartNumber = index + 1;
    const command = { ...place, UploadId, PartNumber, Body };
    const told = await ask(() =>
      this.#client.send(new this.#sdk.UploadPartCommand(command), { abortSignal }),
    );
    this.#parts[index] = { PartNumber, ...partOf(told) };
  }

  async complete(): Promise<void> {
    const { place, ask, signal: abortSignal } = this.#writing;
    const UploadId = await this.#id;
    const command = { ...place, UploadId, MultipartUpload: { Parts: this.#parts } };
    try {
      await ask(() =>
        this.#client.send(new this.#sdk.CompleteMultipartUploadCommand(command), { abortSignal }),
      );
    } catch (error) {
      if (!(await this.#isComplete(error))) throw error;
    }
  }

  async remove(): Promise<void> {
    const { place, askAnyway } = this.#writing;
    const UploadId = await this.#id?.catch(() => undefined);
    if (UploadId === undefined) return;
    await askAnyway((options) =>
      this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ ...place, UploadId }), options),
    );
  }

  async #begin(): Promise<string> {
    const { place, contentType: ContentType, ask, signal: abortSignal } = this.#writing;
    const { UploadId } = await ask(() =>
      this.#client.send(new this.#sdk.CreateMultipartUploadCommand({ ...place, ContentType }), {
        abortSignal,
      }),
    );
    if (UploadId !== undefined) return UploadId;
    throw new ConnectorError('data', `the store gives no id for the upload of ${place.Key}`);
  }

  /**
   * An upload that is not there any more was completed by a request whose answer was lost, if the
   * object has as many parts.
   */
  async #isComplete(error: unknown): Promise<boolean> {
    if (!(error instanceof ConnectorError) || error.status !== 404) return false;
    const object = await this.#writing.look().catch(() => undefined);
    return object?.version.replaceAll('"', '').endsWith(`-${this.#parts.length}`) === true;
  }
}

/** What the request that completes the object has to repeat. */
function partOf({
  ETag,
  ChecksumCRC32,
  ChecksumCRC32C,
  ChecksumCRC64NVME,
  ChecksumSHA1,
  ChecksumSHA256,
}: S3.UploadPartCommandOutput): Omit<S3.CompletedPart, 'PartNumber'> {
  return {
    ETag,
    ChecksumCRC32,
    ChecksumCRC32C,
    ChecksumCRC64NVME,
    ChecksumSHA1,
    ChecksumSHA256,
  };
}
