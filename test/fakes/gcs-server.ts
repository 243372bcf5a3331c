/**
 * A store that speaks the JSON API of Google Cloud Storage over a socket, as far as clients of
 * objects use it, and fails where a test wants it to. What it stores is looked at from outside.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32c } from '../../src/connectors/_objects/crc.ts';
import { received } from './received.ts';

export interface FakeGcsObject {
  readonly body: Buffer;
  readonly generation: string;
  readonly modified: Date;
  readonly contentType: string;
  /** What is sent when the store unpacks the content, which was stored packed. */
  readonly unpacked?: Buffer;
  /** That of the content when absent. */
  readonly crc32c?: string;
}

export interface GcsFakeRequest {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  /** Whether it belongs to a session that takes an object in parts. */
  readonly isSession: boolean;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

/** One of these. */
export interface GcsFault {
  readonly status?: number;
  readonly message?: string;
  readonly resets?: true;
  /** What was asked is done, and nobody hears of it. */
  readonly losesAnswer?: true;
  /** Of a part that is sent, only the beginning is taken. */
  readonly takes?: number;
  readonly breaksAfter?: number;
  readonly hangs?: true;
}

export interface FakeGcs {
  readonly url: string;
  readonly requests: GcsFakeRequest[];
  readonly buckets: Map<string, Map<string, FakeGcsObject>>;
  /** Sessions that were neither completed nor given up. */
  readonly sessions: ReadonlyMap<string, unknown>;
  put(bucket: string, key: string, body: string | Uint8Array, more?: Partial<FakeGcsObject>): void;
  /** Asked before each request. */
  fail(fault: (request: GcsFakeRequest) => GcsFault | undefined): void;
  close(): Promise<void>;
}

interface Session {
  readonly bucket: string;
  readonly key: string;
  readonly contentType: string;
  body: Buffer;
}

const GRAIN_BYTES = 256 * 1024;

export async function startFakeGcs(): Promise<FakeGcs> {
  const fake = new Fake();
  const server = createServer((message, response) => void fake.handle(message, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  fake.url = `http://127.0.0.1:${port}`;
  return {
    url: fake.url,
    requests: fake.requests,
    buckets: fake.buckets,
    sessions: fake.sessions,
    put: (bucket, key, body, more) => fake.put(bucket, key, body, more),
    fail: (fault) => (fake.fault = fault),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

class Fake {
  url = '';
  readonly requests: GcsFakeRequest[] = [];
  readonly buckets = new Map<string, Map<string, FakeGcsObject>>();
  readonly sessions = new Map<string, Session>();
  readonly #completed = new Set<string>();
  #generations = 1_700_000_000_000_000;
  fault: (request: GcsFakeRequest) => GcsFault | undefined = () => undefined;

  put(
    bucket: string,
    key: string,
    content: string | Uint8Array,
    more: Partial<FakeGcsObject> = {},
  ): FakeGcsObject {
    const object = {
      body: Buffer.from(content),
      generation: `${(this.#generations += 1)}`,
      modified: new Date(),
      contentType: 'application/octet-stream',
      ...more,
    };
    const objects = this.buckets.get(bucket) ?? new Map<string, FakeGcsObject>();
    this.buckets.set(bucket, objects.set(key, object));
    return object;
  }

  async handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const whole = await received(message);
    if (whole === undefined) return;
    const url = new URL(message.url ?? '/', 'http://fake');
    const [, bucket = '', key = ''] =
      /^(?:\/upload)?\/storage\/v1\/b\/([^/]+)\/o\/?([^/]*)$/.exec(url.pathname) ?? [];
    const query = url.searchParams;
    const request: GcsFakeRequest = {
      method: message.method ?? 'GET',
      bucket: decodeURIComponent(bucket),
      key: decodeURIComponent(key) || (query.get('name') ?? ''),
      isSession: query.get('uploadType') === 'resumable',
      query,
      headers: message.headers,
    };
    this.requests.push(request);
    const fault = this.fault(request) ?? {};
    if (fault.hangs) return;
    if (fault.resets) return void message.socket.resetAndDestroy();
    if (fault.status !== undefined) return failed(response, fault.status, fault.message);
    if (fault.losesAnswer) message.socket.resetAndDestroy();
    const body = whole.subarray(0, fault.takes);
    if (query.has('uploadType')) this.#upload(request, body, response);
    else this.#answer(request, response, fault.breaksAfter);
  }

  #answer(
    { method, bucket, key, query, headers }: GcsFakeRequest,
    response: ServerResponse,
    breaksAfter: number | undefined,
  ): void {
    const objects = this.buckets.get(bucket);
    const object = objects?.get(key);
    if (objects === undefined) failed(response, 404, 'The specified bucket does not exist.');
    else if (key === '') json(response, listing(objects, query));
    else if (object === undefined) failed(response, 404, `No such object: ${bucket}/${key}`);
    else if (method === 'DELETE') {
      objects.delete(key);
      response.writeHead(204).end();
    } else if (query.get('alt') !== 'media') json(response, listed(key, object));
    else if ((query.get('generation') ?? object.generation) !== object.generation)
      failed(response, 404, `No such object: ${bucket}/${key}#${query.get('generation')}`);
    else send(response, object, { range: headers.range, breaksAfter });
  }

  #upload(request: GcsFakeRequest, body: Buffer, response: ServerResponse): void {
    const { method, bucket, key, query, headers, isSession } = request;
    const contentType = headers['content-type'] ?? '';
    const id = query.get('upload_id');
    if (!this.buckets.has(bucket))
      return failed(response, 404, 'The specified bucket does not exist.');
    const isTaken = this.buckets.get(bucket)?.has(key) === true;
    if (query.get('ifGenerationMatch') === '0' && isTaken)
      return failed(
        response,
        412,
        'At least one of the pre-conditions you specified did not hold.',
      );
    if (!isSession)
      return json(response, listed(key, this.put(bucket, key, body, { contentType })));
    if (id === null) {
      const fresh = randomUUID();
      const { contentType: told = '' } = JSON.parse(body.toString()) as { contentType?: string };
      this.sessions.set(fresh, { bucket, key, contentType: told, body: Buffer.alloc(0) });
      const location = `${this.url}/upload/storage/v1/b/${bucket}/o?uploadType=resumable&upload_id=${fresh}`;
      response.writeHead(200, { location }).end();
    } else if (method === 'DELETE') {
      this.sessions.delete(id);
      response.writeHead(499).end();
    } else this.#take({ id, range: headers['content-range'] ?? '' }, body, response);
  }

  #take(
    { id, range }: { readonly id: string; readonly range: string },
    body: Buffer,
    response: ServerResponse,
  ): void {
    const session = this.sessions.get(id);
    if (session === undefined) {
      if (this.#completed.has(id)) json(response, {});
      else failed(response, 404, 'the session is not known');
      return;
    }
    const [, from, to, total = ''] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(range) ?? [];
    const isLast = total !== '*' && (to === undefined || Number(to) + 1 === Number(total));
    const told = from === undefined ? 0 : Number(to) - Number(from) + 1;
    const isOdd = !isLast && told % GRAIN_BYTES !== 0;
    if (total === '' || isOdd || (from !== undefined && Number(from) !== session.body.length))
      return failed(response, 400, `a part that does not fit: ${range}`);
    session.body = Buffer.concat([session.body, body]);
    if (isLast && session.body.length === Number(total)) {
      const { bucket, key, contentType } = session;
      this.sessions.delete(id);
      this.#completed.add(id);
      return json(response, listed(key, this.put(bucket, key, session.body, { contentType })));
    }
    const end = session.body.length - 1;
    response.writeHead(308, end < 0 ? {} : { range: `bytes=0-${end}` }).end();
  }
}

function send(
  response: ServerResponse,
  object: FakeGcsObject,
  {
    range,
    breaksAfter,
  }: { readonly range: string | undefined; readonly breaksAfter: number | undefined },
): void {
  const told = /^bytes=(\d+)-(\d*)$/.exec(object.unpacked === undefined ? (range ?? '') : '');
  const whole = object.unpacked ?? object.body;
  const from = Number(told?.[1] ?? 0);
  const last = told?.[2] ?? '';
  const body = whole.subarray(from, last === '' ? whole.length : Number(last) + 1);
  response.writeHead(told === null ? 200 : 206, {
    'content-type': object.contentType,
    'x-goog-generation': object.generation,
    'x-goog-hash': `crc32c=${object.crc32c ?? base64OfCrc(object.body)},md5=${md5Of(object.body)}`,
    'x-goog-stored-content-encoding': object.unpacked === undefined ? 'identity' : 'gzip',
    ...(object.unpacked === undefined ? { 'content-length': body.length } : {}),
  });
  if (breaksAfter === undefined) response.end(body);
  else response.write(body.subarray(0, breaksAfter), () => response.destroy());
}

function listing(objects: ReadonlyMap<string, FakeGcsObject>, query: URLSearchParams): object {
  const prefix = query.get('prefix') ?? '';
  const start = query.get('pageToken') ?? query.get('startOffset') ?? '';
  const delimiter = query.get('delimiter');
  const most = Number(query.get('maxResults') ?? 1000);
  const keys = [...objects.keys()]
    .filter((key) => key.startsWith(prefix) && compared(key, start) >= 0)
    .sort(compared);
  const levelOf = (key: string): string | undefined => {
    const cut = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length);
    return cut === -1 ? undefined : key.slice(0, cut + 1);
  };
  const page = keys.slice(0, most);
  const prefixes = [...new Set(page.flatMap((key) => levelOf(key) ?? []))];
  const items = page.flatMap((key) => {
    const object = objects.get(key);
    return object === undefined || levelOf(key) !== undefined ? [] : [listed(key, object)];
  });
  const next = keys[most];
  return { items, prefixes, ...(next === undefined ? {} : { nextPageToken: next }) };
}

function compared(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function listed(name: string, { body, modified, generation }: FakeGcsObject): object {
  return { name, size: `${body.length}`, updated: modified.toISOString(), generation };
}

function base64OfCrc(body: Buffer): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32c(body), 0);
  return bytes.toString('base64');
}

function md5Of(body: Buffer): string {
  return createHash('md5').update(body).digest('base64');
}

function json(response: ServerResponse, value: object): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

function failed(
  response: ServerResponse,
  status: number,
  message = `the fake says ${status}`,
): void {
  response.statusCode = status;
  json(response, { error: { code: status, message } });
}
