/** What the stores of objects have in common. */
import { ConnectorError } from '../errors.ts';

/** An object as a store lists it. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  readonly lastModified: Date;
  /** Another one for other content under the same key; empty where the store tells none. */
  readonly version: string;
}

export interface ListRequest {
  readonly prefix: string;
  /** Only keys behind this one. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

export interface ReadObject {
  /** The first byte, and the one behind the last. */
  readonly from?: number;
  readonly to?: number;
  /** Fails when the content is another one by now. */
  readonly version?: string | undefined;
  /** Whether the store is asked for checksums of the content. */
  readonly checksums?: boolean;
  readonly signal: AbortSignal;
}

export interface ObjectContent {
  /** Of the part that was asked for; absent where the store does not say. */
  readonly length: number | undefined;
  /** Names the content, for requests of further parts of it. */
  readonly version: string | undefined;
  /** Digests of the whole content, in base64; empty where the store has none of them. */
  readonly checksums: Checksums;
  /** Whether the store unpacks the content before it sends it, so that its size is unknown. */
  readonly isTranscoded?: boolean;
  readonly blocks: AsyncIterable<Uint8Array>;
  /** Ends the request without reading on. */
  cancel(): void;
}

export const CHECKSUMS = ['sha256', 'crc64nvme', 'crc32c', 'crc32', 'md5'] as const;
export type Checksum = (typeof CHECKSUMS)[number];
export type Checksums = Readonly<Partial<Record<Checksum, string>>>;

export interface UploadRequest {
  readonly contentType: string;
  /** Whether parts are sent as they come; else a small object is held in memory until `commit`. */
  readonly sendsParts: boolean;
  /** How many parts may be sent at the same time. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

export type CreateRequest = Pick<UploadRequest, 'contentType' | 'signal'>;

/** An object that nobody sees before `commit`. Either `commit` or `abort` is called at the end. */
export interface ObjectUpload {
  write(bytes: Uint8Array): Promise<void>;
  /** Sends what is left; then only `commit` is missing. */
  end(): Promise<void>;
  commit(): Promise<void>;
  /** Removes what was sent. Also while a `write` is under way, and when it failed. */
  abort(): Promise<void>;
}

/** One level of keys, up to the next `/`. */
export interface ObjectLevel {
  readonly prefixes: readonly string[];
  readonly objects: readonly StoredObject[];
}

/** A bucket or container. Each call makes one request, or one a page or part. */
export interface ObjectStore {
  /** Where keys begin in messages and addresses: `s3://bucket/`. */
  readonly address: string;
  /** Page by page, in the order of the keys (their UTF-8 bytes). */
  list(request: ListRequest): AsyncIterable<readonly StoredObject[]>;
  /** At most 1000 of both. */
  level(request: ListRequest): Promise<ObjectLevel>;
  /** Undefined where there is no object. */
  look(key: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  read(key: string, request: ReadObject): Promise<ObjectContent>;
  upload(key: string, request: UploadRequest): ObjectUpload;
  /**
   * Writes a small object where none has this key, and says whether it did: of several writers at
   * most one does. After an answer that was lost, an object of its own may already be there.
   * Absent where the store has no such request.
   */
  create?(key: string, bytes: Buffer, request: CreateRequest): Promise<boolean>;
  /** An object that is not there counts as removed. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** Whether objects may be written there; leaves nothing behind. */
  tryWrite(key: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** What the request of `create` says: `taken` are the answers of a store that has such an object. */
export async function isNew(request: Promise<unknown>, taken: readonly number[]): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (error instanceof ConnectorError && taken.includes(error.status ?? 0)) return false;
    throw error;
  }
}

/** Runs one request, and repeats it as the document says. `what` is for the log. */
export type RunRequest = <T>(
  what: string,
  signal: AbortSignal,
  work: () => Promise<T>,
) => Promise<T>;

export const onceOnly: RunRequest = (_what, _signal, work) => work();
