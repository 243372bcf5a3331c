/** Objects of Google Cloud Storage. */
import { Readable } from 'node:stream';
import { ConnectorError, isTransient } from '../errors.ts';
import { blocksOf } from './content-blocks.ts';
import { openLogin, type GcsAuth } from './gcs-login.ts';
import { beginSession, endSession, GcsParts } from './gcs-parts.ts';
import { GcsRequests } from './gcs-requests.ts';
import {
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
import { PartUpload } from './part-upload.ts';

export interface GcsPlace {
  readonly bucket: string;
  readonly endpoint: string | undefined;
  /** What the machine has when absent; nobody where `endpoint` is given, as emulators want it. */
  readonly auth: GcsAuth | undefined;
}

interface GcsAsking {
  readonly requestMs: number;
  readonly run: RunRequest;
}

const GOOGLE = 'https://storage.googleapis.com';
/** What the tools of the vendor go by as well. */
const EMULATOR = 'STORAGE_EMULATOR_HOST';
const PAGE = 1000;
const PRECONDITION_FAILED = 412;
const OBJECT_FIELDS = 'name,size,updated,generation';
const LIST_FIELDS = `nextPageToken,prefixes,items(${OBJECT_FIELDS})`;
const ONE_LOOK: GcsAsking = { requestMs: 30_000, run: twice };

/** One more attempt after a failure that may pass. */
async function twice<T>(_what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted || !(error instanceof ConnectorError) || !isTransient(error.kind))
      throw error;
    return work();
  }
}

export async function openGcs(place: GcsPlace, asking = ONE_LOOK): Promise<ObjectStore> {
  const told = place.endpoint ?? process.env[EMULATOR];
  const auth = place.auth ?? { type: told === undefined ? 'application_default' : 'anonymous' };
  const login = await openLogin(auth);
  const base = baseOf(told);
  return new GcsStore(place.bucket, new GcsRequests({ base, login, ...asking }));
}

/** The tools of the vendor take an emulator without `http://`. */
function baseOf(told = GOOGLE): string {
  return (/^https?:/.test(told) ? told : `http://${told}`).replace(/\/+$/, '');
}

class GcsStore implements ObjectStore {
  readonly address: string;
  readonly #bucket: string;
  readonly #requests: GcsRequests;

  constructor(bucket: string, requests: GcsRequests) {
    this.address = `gs://${bucket}/`;
    this.#bucket = bucket;
    this.#requests = requests;
  }

  async *list({ prefix, after, signal }: ListRequest): AsyncGenerator<readonly StoredObject[]> {
    let token: string | undefined;
    do {
      const asked = { prefix, startOffset: after, pageToken: token };
      const { objects, following } = await this.#page(asked, signal);
      yield objects.filter(({ key }) => key !== after);
      token = following;
    } while (token !== undefined);
  }

  async level({ prefix, signal }: ListRequest): Promise<ObjectLevel> {
    const { prefixes, objects } = await this.#page({ prefix, delimiter: '/' }, signal);
    return { prefixes, objects };
  }

  async look(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const found = await this.#requests.askJson(`${this.address}${key} cannot be looked at`, {
        url: `${this.#url(key)}?${query({ fields: OBJECT_FIELDS })}`,
        signal,
      });
      return objectOf(found)[0];
    } catch (error) {
      if (error instanceof ConnectorError && error.status === 404) return undefined;
      throw error;
    }
  }

  async read(key: string, request: ReadObject): Promise<ObjectContent> {
    const { from = 0, to, version, signal } = request;
    const isPart = from > 0 || to !== undefined;
    const name = `${this.address}${key}`;
    const stop = new AbortController();
    const readSignal = AbortSignal.any([signal, stop.signal]);
    const generation = version === '' ? undefined : version;
    const response = await this.#requests
      .ask(`${name} cannot be read`, {
        url: `${this.#url(key)}?${query({ alt: 'media', generation })}`,
        headers: {
          'accept-encoding': 'identity',
          ...(isPart ? { range: `bytes=${from}-${to === undefined ? '' : to - 1}` } : {}),
        },
        signal: readSignal,
      })
      .catch((error: unknown) => {
        throw generation === undefined ? error : replaced(error);
      });
    const { headers } = response;
    const isTranscoded =
      (headers.get('x-goog-stored-content-encoding') ?? 'identity') !== 'identity';
    const isWhole = response.status === 200;
    if (to !== undefined && isWhole && isTranscoded) {
      stop.abort();
      throw noRanges(name);
    }
    const body = blocksOf(response.body ?? Readable.from([]), { name, signal: readSignal });
    const length = headers.get('content-length');
    return {
      length: length === null ? undefined : Number(length) - (isWhole ? from : 0),
      version: headers.get('x-goog-generation') ?? undefined,
      checksums: isPart ? {} : checksumsOf(headers.get('x-goog-hash') ?? ''),
      isTranscoded,
      // What the store unpacks it sends from the beginning, whatever is asked for.
      blocks: isWhole && from > 0 ? without(from, body) : body,
      cancel: () => stop.abort(),
    };
  }

  upload(key: string, request: UploadRequest): ObjectUpload {
    const { contentType, signal } = request;
    const target = new GcsParts(this.#requests, this.#writing(key, contentType, signal));
    return new PartUpload(target, { ...request, concurrency: 1 });
  }

  create(key: string, bytes: Buffer, request: CreateRequest): Promise<boolean> {
    const { contentType, signal } = request;
    const target = new GcsParts(this.#requests, this.#writing(key, contentType, signal));
    return isNew(target.putWhole(bytes, true), [PRECONDITION_FAILED]);
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#requests.tell(`${this.address}${key} cannot be removed`, {
      method: 'DELETE',
      url: this.#url(key),
      fine: [404],
      signal,
    });
  }

  /** A session of which nothing becomes. */
  async tryWrite(key: string, signal: AbortSignal): Promise<void> {
    const writing = this.#writing(key, 'application/octet-stream', signal);
    const url = await beginSession(this.#requests, writing);
    await endSession(this.#requests, url, writing.name, signal);
  }

  close(): void {}

  async #page(
    asked: Query,
    signal: AbortSignal,
  ): Promise<ObjectLevel & { readonly following: string | undefined }> {
    const { items, prefixes, nextPageToken } = await this.#requests.askJson(
      `the objects of the bucket \`${this.#bucket}\` cannot be listed`,
      {
        url: `${this.#objects}?${query({ ...asked, maxResults: `${PAGE}`, fields: LIST_FIELDS })}`,
        signal,
      },
    );
    return {
      objects: listOf(items).flatMap((item) => objectOf(item as Listed)),
      prefixes: listOf(prefixes).filter((prefix) => typeof prefix === 'string'),
      following:
        typeof nextPageToken === 'string' && nextPageToken !== '' ? nextPageToken : undefined,
    };
  }

  get #objects(): string {
    return `/storage/v1/b/${encodeURIComponent(this.#bucket)}/o`;
  }

  #url(key: string): string {
    return `${this.#objects}/${encodeURIComponent(key)}`;
  }

  #writing(key: string, contentType: string, signal: AbortSignal) {
    return { bucket: this.#bucket, key, name: `${this.address}${key}`, contentType, signal };
  }
}

type Query = Readonly<Record<string, string | undefined>>;

function query(words: Query): string {
  const told = new URLSearchParams();
  for (const [name, value] of Object.entries(words)) if (value !== undefined) told.set(name, value);
  return told.toString();
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** As the store describes an object; numbers are texts. */
interface Listed {
  readonly name?: unknown;
  readonly size?: unknown;
  readonly updated?: unknown;
  readonly generation?: unknown;
}

function objectOf({ name, size, updated, generation }: Listed): StoredObject[] {
  if (typeof name !== 'string' || typeof updated !== 'string') return [];
  return [
    {
      key: name,
      size: Number(size ?? 0),
      lastModified: new Date(updated),
      version: typeof generation === 'string' ? generation : '',
    },
  ];
}

/** `crc32c=…,md5=…`; an object that was composed of others has no MD5. */
function checksumsOf(header: string): Checksums {
  const found: Partial<Record<keyof Checksums, string>> = {};
  for (const part of header.split(',')) {
    const cut = part.indexOf('=');
    const name = part.slice(0, cut).trim();
    if (name === 'crc32c' || name === 'md5') found[name] = part.slice(cut + 1).trim();
  }
  return found;
}

/** Of a content that was read before, another failure than of one that never was there. */
function replaced(error: unknown): unknown {
  if (!(error instanceof ConnectorError) || error.status !== 404) return error;
  return new ConnectorError('refused', error.message, {
    cause: error,
    status: 404,
    hint: 'the object was replaced or removed while it was read; run it again',
  });
}

function noRanges(name: string): ConnectorError {
  return new ConnectorError(
    'refused',
    `parts of ${name} cannot be read, because it is stored with \`Content-Encoding: gzip\``,
    { hint: 'store it without, or read it in a format that is read as a whole' },
  );
}

async function* without(
  count: number,
  blocks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let left = count;
  for await (const block of blocks) {
    if (left < block.length) yield block.subarray(left);
    left = Math.max(0, left - block.length);
  }
}
