/** The requests by which one blob is written, as a whole or in blocks. */
import { randomBytes } from 'node:crypto';
import type { BlockBlobClient } from '@azure/storage-blob';
import type { PartTarget } from './part-upload.ts';

/** Asks with a signal that also ends a request without an answer. */
export type AskAzure = <T>(send: (abortSignal: AbortSignal) => Promise<T>) => Promise<T>;

export class AzureBlocks implements PartTarget {
  readonly mostParts = 50_000;
  readonly #blob: BlockBlobClient;
  readonly #contentType: string;
  readonly #ask: AskAzure;
  /** Another writer of the same blob has other blocks. */
  readonly #own = randomBytes(12);
  readonly #ids: string[] = [];

  constructor(blob: BlockBlobClient, contentType: string, ask: AskAzure) {
    this.#blob = blob;
    this.#contentType = contentType;
    this.#ask = ask;
  }

  /** `onlyNew`: fails where there is such a blob. */
  async putWhole(bytes: Buffer, onlyNew = false): Promise<void> {
    const conditions = onlyNew ? { ifNoneMatch: '*' } : {};
    await this.#ask((abortSignal) =>
      this.#blob.upload(bytes, bytes.length, {
        abortSignal,
        blobHTTPHeaders: this.#headers,
        conditions,
      }),
    );
  }

  async putPart(bytes: Buffer, index: number): Promise<void> {
    const id = this.#idOf(index);
    await this.#ask((abortSignal) =>
      this.#blob.stageBlock(id, bytes, bytes.length, { abortSignal }),
    );
    this.#ids[index] = id;
  }

  /** To commit the same blocks again is no failure. */
  async complete(): Promise<void> {
    await this.#ask((abortSignal) =>
      this.#blob.commitBlockList(this.#ids, { abortSignal, blobHTTPHeaders: this.#headers }),
    );
  }

  /** Blocks that belong to no blob cannot be removed; the store forgets them after a week. */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  get #headers() {
    return { blobContentType: this.#contentType };
  }

  /** The ids of all blocks of a blob must have the same length. */
  #idOf(index: number): string {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(index);
    return Buffer.concat([this.#own, number]).toString('base64');
  }
}
