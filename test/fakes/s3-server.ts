/**
 * A store that speaks the protocol of S3 over a socket, as far as clients of objects use it, and
 * fails where a test wants it to. What it stores is looked at from outside.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { received } from './received.ts';

export interface FakeObject {
  readonly body: Buffer;
  readonly etag: string;
  readonly modified: Date;
  readonly contentType: string;
}

export interface S3Request {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

/** How a request fails: with an answer, with a cut connection, or in the middle of a body. */
export type S3Fault =
  | { readonly status: number; readonly code: string }
  | { readonly resets: true }
  /** What was asked is done, and nobody hears of it. */
  | { readonly losesAnswer: true }
  | { readonly breaksAfter: number }
  | { readonly hangs: true };

export interface FakeS3 {
  readonly url: string;
  readonly requests: S3Request[];
  /** By bucket and key. */
  readonly buckets: Map<string, Map<string, FakeObject>>;
  /** Uploads in parts that were neither completed nor given up. */
  readonly uploads: ReadonlyMap<string, unknown>;
  put(bucket: string, key: string, body: string | Uint8Array, modified?: Date): void;
  /** Asked before each request. */
  fail(fault: (request: S3Request) => S3Fault | undefined): void;
  close(): Promise<void>;
}

interface Upload {
  readonly key: string;
  readonly contentType: string;
  readonly parts: Map<number, Buffer>;
}

export async function startFakeS3(): Promise<FakeS3> {
  const fake = new Fake();
  const server = createServer((message, response) => void fake.handle(message, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: fake.requests,
    buckets: fake.buckets,
    uploads: fake.uploads,
    put: (bucket, key, body, modified) => fake.put(bucket, key, { body, modified }),
    fail: (fault) => (fake.fault = fault),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

class Fake {
  readonly requests: S3Request[] = [];
  readonly buckets = new Map<string, Map<string, FakeObject>>();
  readonly uploads = new Map<string, Upload>();
  fault: (request: S3Request) => S3Fault | undefined = () => undefined;

  put(
    bucket: string,
    key: string,
    stored: {
      readonly body: string | Uint8Array;
      readonly modified?: Date | undefined;
      readonly contentType?: string;
    },
  ): FakeObject {
    const body = Buffer.from(stored.body);
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    const { modified = new Date(), contentType = 'binary/octet-stream' } = stored;
    const object = { body, etag, modified, contentType };
    const objects = this.buckets.get(bucket) ?? new Map<string, FakeObject>();
    this.buckets.set(bucket, objects.set(key, object));
    return object;
  }

  async handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await received(message);
    if (body === undefined) return;
    const url = new URL(message.url ?? '/', 'http://fake');
    const [, bucket = '', ...rest] = url.pathname.split('/');
    const request: S3Request = {
      method: message.method ?? 'GET',
      bucket,
      key: decodeURIComponent(rest.join('/')),
      query: url.searchParams,
      headers: message.headers,
    };
    this.requests.push(request);
    const fault = this.fault(request);
    if (fault !== undefined && 'hangs' in fault) return;
    if (fault !== undefined && 'resets' in fault) {
      message.socket.resetAndDestroy();
      return;
    }
    if (fault !== undefined && 'status' in fault) return failed(response, fault.status, fault.code);
    if (fault !== undefined && 'losesAnswer' in fault) message.socket.resetAndDestroy();
    const breaksAfter =
      fault !== undefined && 'breaksAfter' in fault ? fault.breaksAfter : undefined;
    this.#answer(request, body, { response, breaksAfter });
  }

  #answer(request: S3Request, body: Buffer, { response, breaksAfter }: Answering): void {
    const { method, bucket, key, query, headers } = request;
    const objects = this.buckets.get(bucket);
    if (method === 'PUT' && key === '') {
      this.buckets.set(bucket, objects ?? new Map());
      response.end();
    } else if (objects === undefined) failed(response, 404, 'NoSuchBucket');
    else if (key === '') answerXml(response, listing(objects, query));
    else if (query.has('uploads') || query.has('uploadId')) this.#upload(request, body, response);
    else if (method === 'PUT' && headers['if-none-match'] === '*' && objects.has(key))
      failed(response, 412, 'PreconditionFailed');
    else if (method === 'PUT') {
      const contentType = headers['content-type'] ?? '';
      response.setHeader('etag', this.put(bucket, key, { body, contentType }).etag);
      response.end();
    } else if (method === 'DELETE') {
      objects.delete(key);
      response.statusCode = 204;
      response.end();
    } else sendObject(request, objects.get(key), { response, breaksAfter });
  }

  #upload(
    { method, bucket, key, query, headers }: S3Request,
    body: Buffer,
    response: ServerResponse,
  ) {
    const id = query.get('uploadId') ?? '';
    const upload = this.uploads.get(id);
    if (query.has('uploads')) {
      const fresh = randomUUID();
      const contentType = headers['content-type'] ?? '';
      this.uploads.set(fresh, { key, contentType, parts: new Map() });
      answerXml(
        response,
        `<InitiateMultipartUploadResult><UploadId>${fresh}</UploadId></InitiateMultipartUploadResult>`,
      );
    } else if (upload === undefined) failed(response, 404, 'NoSuchUpload');
    else if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      response.setHeader('etag', `"${createHash('md5').update(body).digest('hex')}"`);
      response.end();
    } else if (method === 'DELETE') {
      this.uploads.delete(id);
      response.statusCode = 204;
      response.end();
    } else this.#complete({ bucket, id, upload }, body, response);
  }

  #complete(
    { bucket, id, upload }: { bucket: string; id: string; upload: Upload },
    body: Buffer,
    response: ServerResponse,
  ): void {
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(
      ([, number]) => Number(number),
    );
    const parts = numbers.map((number) => upload.parts.get(number) ?? Buffer.alloc(0));
    if (parts.slice(0, -1).some(({ length }) => length < 5 * 1024 * 1024))
      return failed(response, 400, 'EntityTooSmall');
    const { key, contentType } = upload;
    const object = this.put(bucket, key, { body: Buffer.concat(parts), contentType });
    const etag = `"${object.etag.slice(1, -1)}-${parts.length}"`;
    this.buckets.get(bucket)?.set(key, { ...object, etag });
    this.uploads.delete(id);
    answerXml(
      response,
      '<CompleteMultipartUploadResult><ETag>"done-1"</ETag></CompleteMultipartUploadResult>',
    );
  }
}

interface Answering {
  readonly response: ServerResponse;
  readonly breaksAfter: number | undefined;
}

function sendObject(
  { method, headers }: S3Request,
  object: FakeObject | undefined,
  { response, breaksAfter }: Answering,
): void {
  if (object === undefined) return failed(response, 404, 'NoSuchKey');
  const wanted = headers['if-match'];
  if (wanted !== undefined && wanted !== object.etag)
    return failed(response, 412, 'PreconditionFailed');
  const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '');
  const from = Number(range?.[1] ?? 0);
  const end =
    range?.[2] === undefined || range[2] === '' ? object.body.length : Number(range[2]) + 1;
  const body = object.body.subarray(from, end);
  response.writeHead(range === null ? 200 : 206, {
    etag: object.etag,
    'content-type': object.contentType,
    'content-length': body.length,
    'last-modified': object.modified.toUTCString(),
  });
  if (method === 'HEAD') response.end();
  else if (breaksAfter === undefined) response.end(body);
  else response.write(body.subarray(0, breaksAfter), () => response.destroy());
}

function listing(objects: ReadonlyMap<string, FakeObject>, query: URLSearchParams): string {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const most = Number(query.get('max-keys') ?? 1000);
  const delimiter = query.get('delimiter');
  const keys = [...objects.keys()]
    .filter(
      (key) => key.startsWith(prefix) && Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0,
    )
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const levelOf = (key: string): string | undefined => {
    const cut = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length);
    return cut === -1 ? undefined : key.slice(0, cut + 1);
  };
  const page = keys.slice(0, most);
  const last = page.at(-1);
  const isCut = page.length < keys.length && last !== undefined;
  const contents = page
    .filter((key) => levelOf(key) === undefined)
    .map((key) => contentOf(key, objects.get(key)));
  const levels = new Set(page.flatMap((key) => levelOf(key) ?? []));
  const prefixes = [...levels].map(
    (level) => `<CommonPrefixes><Prefix>${escaped(level)}</Prefix></CommonPrefixes>`,
  );
  const next = isCut ? `<NextContinuationToken>${escaped(last)}</NextContinuationToken>` : '';
  return `<ListBucketResult><IsTruncated>${isCut}</IsTruncated>${next}${contents.join('')}${prefixes.join('')}</ListBucketResult>`;
}

function contentOf(key: string, object: FakeObject | undefined): string {
  const time = object?.modified.toISOString() ?? '';
  return `<Contents><Key>${escaped(key)}</Key><LastModified>${time}</LastModified><ETag>${escaped(object?.etag ?? '')}</ETag><Size>${object?.body.length ?? 0}</Size></Contents>`;
}

function answerXml(response: ServerResponse, content: string): void {
  response.setHeader('content-type', 'application/xml');
  response.end(`<?xml version="1.0" encoding="UTF-8"?>${content}`);
}

function failed(response: ServerResponse, status: number, code: string): void {
  response.statusCode = status;
  answerXml(
    response,
    `<Error><Code>${code}</Code><Message>the fake says ${code}</Message></Error>`,
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
