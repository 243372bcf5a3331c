/** Objects (blobs) of Azure Blob Storage. */
import type { Readable } from 'node:stream';
import type * as Azure from '@azure/storage-blob';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { loadClient } from '../load-client.ts';
import { AzureBlocks, type AskAzure } from './azure-blocks.ts';
import { openContainer, type AzurePlace } from './azure-login.ts';
import { blocksOf } from './content-blocks.ts';
import {
  isNew,
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

interface AzureAsking {
  /** How long the store may take to answer. */
  readonly requestMs: number;
  readonly run: RunRequest;
}

const PAGE = 1000;
/** No content has this version: what asks for it changes nothing. */
const NO_VERSION = '"0x0000000000000000"';
const ALREADY_EXISTS = 409;
const PRECONDITION_FAILED = 412;

export async function openAzure(place: AzurePlace, asking: AzureAsking): Promise<ObjectStore> {
  const sdk = await loadClient('@azure/storage-blob', () => import('@azure/storage-blob'));
  return new AzureStore(await openContainer(sdk, place), asking);
}

class AzureStore implements ObjectStore {
  readonly address: string;
  readonly #container: Azure.ContainerClient;
  readonly #asking: AzureAsking;

  constructor(container: Azure.ContainerClient, asking: AzureAsking) {
    this.#container = container;
    this.#asking = asking;
    this.address = `az://${container.containerName}/`;
  }

  /** The store cannot begin behind a key: what comes before is passed over. */
  async *list({ prefix, after, signal }: ListRequest): AsyncGenerator<readonly StoredObject[]> {
    let continuationToken: string | undefined;
    do {
      const told = continuationToken === undefined ? {} : { continuationToken };
      const { value } = await this.#ask(this.#listing, signal, (abortSignal) =>
        this.#container
          .listBlobsFlat({ prefix, responseFormat: 'Xml', abortSignal })
          .byPage({ maxPageSize: PAGE, ...told })
          .next(),
      );
      const page = value as Azure.ContainerListBlobFlatSegmentResponse | undefined;
      const objects = (page?.segment.blobItems ?? []).map(objectOf);
      yield after === undefined ? objects : objects.filter(({ key }) => isBehind(key, after));
      continuationToken = page?.continuationToken;
    } while (continuationToken !== undefined && continuationToken !== '');
  }

  async level({ prefix, signal }: ListRequest): Promise<ObjectLevel> {
    const { value } = await this.#ask(this.#listing, signal, (abortSignal) =>
      this.#container
        .listBlobsByHierarchy('/', { prefix, responseFormat: 'Xml', abortSignal })
        .byPage({ maxPageSize: PAGE })
        .next(),
    );
    const page = value as Azure.ContainerListBlobHierarchySegmentResponse | undefined;
    return {
      prefixes: (page?.segment.blobPrefixes ?? []).map(({ name }) => name),
      objects: (page?.segment.blobItems ?? []).map(objectOf),
    };
  }

  async look(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const failing = `${this.address}${key} cannot be looked at`;
      const properties = await this.#ask(failing, signal, (abortSignal) =>
        this.#container.getBlobClient(key).getProperties({ abortSignal }),
      );
      return objectOf({ name: key, properties });
    } catch (error) {
      if (error instanceof ConnectorError && error.status === 404) return undefined;
      throw error;
    }
  }

  async read(key: string, request: ReadObject): Promise<ObjectContent> {
    const { from = 0, to, version, signal } = request;
    const name = `${this.address}${key}`;
    const stop = new AbortController();
    const readSignal = AbortSignal.any([signal, stop.signal]);
    const conditions = version === undefined || version === '' ? {} : { ifMatch: version };
    const got = await this.#ask(`${name} cannot be read`, readSignal, (abortSignal) =>
      this.#container.getBlobClient(key).download(from, to === undefined ? undefined : to - from, {
        abortSignal,
        conditions,
        maxRetryRequests: 0,
      }),
    );
    const body = got.readableStreamBody as Readable;
    return {
      length: got.contentLength,
      version: got.etag,
      checksums: {},
      blocks: blocksOf(body, { name, signal: readSignal }),
      cancel: () => {
        stop.abort();
        body.destroy();
      },
    };
  }

  upload(key: string, request: UploadRequest): ObjectUpload {
    return new PartUpload(this.#blocks(key, request), request);
  }

  #blocks(key: string, { contentType, signal }: CreateRequest): AzureBlocks {
    const ask: AskAzure = (send) =>
      this.#ask(`${this.address}${key} cannot be written`, signal, send);
    return new AzureBlocks(this.#container.getBlockBlobClient(key), contentType, ask);
  }

  create(key: string, bytes: Buffer, request: CreateRequest): Promise<boolean> {
    const blocks = this.#blocks(key, request);
    return isNew(blocks.putWhole(bytes, true), [ALREADY_EXISTS, PRECONDITION_FAILED]);
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#ask(`${this.address}${key} cannot be removed`, signal, (abortSignal) =>
      this.#container
        .getBlobClient(key)
        .deleteIfExists({ abortSignal, deleteSnapshots: 'include' }),
    );
  }

  /** Asks to replace a version that nobody has. */
  async tryWrite(key: string, signal: AbortSignal): Promise<void> {
    const blob = this.#container.getBlockBlobClient(key);
    try {
      await this.#ask(`${this.address}${key} cannot be written`, signal, (abortSignal) =>
        blob.upload('', 0, { abortSignal, conditions: { ifMatch: NO_VERSION } }),
      );
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.status !== PRECONDITION_FAILED) throw error;
    }
  }

  close(): void {}

  get #listing(): string {
    return `the objects of the container \`${this.#container.containerName}\` cannot be listed`;
  }

  /** `failing` is what cannot be done, for messages. */
  async #ask<T>(
    failing: string,
    signal: AbortSignal,
    send: (abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { requestMs, run } = this.#asking;
    return run(failing, signal, async () => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), requestMs);
      try {
        return await send(AbortSignal.any([signal, late.signal]));
      } catch (error) {
        signal.throwIfAborted();
        if (late.signal.aborted)
          throw new ConnectorError('timeout', `${failing}: the store does not answer`, {
            cause: error,
          });
        throw azureError(error, failing);
      } finally {
        clearTimeout(timer);
      }
    });
  }
}

interface Listed {
  readonly name: string;
  readonly properties: {
    readonly contentLength?: number | undefined;
    readonly lastModified?: Date | undefined;
    readonly etag?: string | undefined;
  };
}

/** Lists give the version without quotation marks. */
function objectOf({ name, properties: { contentLength, lastModified, etag = '' } }: Listed) {
  return {
    key: name,
    size: contentLength ?? 0,
    lastModified: lastModified ?? new Date(0),
    version: etag === '' || etag.startsWith('"') ? etag : `"${etag}"`,
  } satisfies StoredObject;
}

function isBehind(key: string, after: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0;
}

interface Failure {
  readonly name?: string;
  readonly code?: unknown;
  readonly statusCode?: unknown;
}

function azureError(error: unknown, failing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const { name = '', code: told, statusCode } = error as Failure;
  const status = typeof statusCode === 'number' ? statusCode : undefined;
  const code = typeof told === 'string' ? told : '';
  const kind = kindOf({ name, code, status });
  // Behind the first line are the id and the time of the request.
  const [first = ''] = messageOf(error).split('\n');
  const why = first === '' ? `the store answered ${code || status}` : first;
  const hint =
    HINTS.find(([form]) => form.test(code))?.[1] ?? (kind === 'auth' ? LOGIN : undefined);
  return new ConnectorError(kind, `${failing}: ${why}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
    ...(status === undefined ? {} : { status }),
  });
}

const LOGIN =
  'set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, log in with `az login`, give the machine an identity, or set `auth`';
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/^ConditionNotMet$/, 'the object was replaced while it was read; run it again'],
  [/^AuthorizationPermissionMismatch$/, 'grant the role Storage Blob Data Contributor, or Reader'],
  [
    /^AuthorizationFailure$/,
    'check the key or the signature, and the network rules of the account',
  ],
  [/^ContainerNotFound$/, 'make the container, or check its name and the account'],
  [/^AuthenticationFailed$/, 'check the account and its key, or whether the token has expired'],
];

interface Told {
  readonly name: string;
  readonly code: string;
  readonly status: number | undefined;
}

function kindOf({ name, code, status }: Told): ConnectorErrorKind {
  if (/Credential|Authentication/.test(name)) return 'auth';
  if (/^(AuthenticationFailed|InvalidAuthenticationInfo|NoAuthenticationInformation)$/.test(code))
    return 'auth';
  switch (status) {
    case undefined:
      return 'connection';
    case 401:
      return 'auth';
    case 404:
      return 'missing';
    case 408:
      return 'timeout';
    case 429:
      return 'rate_limited';
    default:
      return status >= 500 ? 'http_5xx' : 'refused';
  }
}
