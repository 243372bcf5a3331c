/**
 * The requests by which one object of Google Cloud Storage is written: as a whole, or by a session
 * that takes one part after the other. Nobody sees the object before the last bytes, which are held
 * back until then.
 */
import { ConnectorError } from '../errors.ts';
import { momentAfter } from '../moment-after.ts';
import type { GcsRequests } from './gcs-requests.ts';
import type { PartTarget } from './part-upload.ts';

interface Writing {
  readonly bucket: string;
  readonly key: string;
  readonly contentType: string;
  /** `gs://bucket/key`. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/** What a session takes before its end is a multiple of this. */
const GRAIN_BYTES = 256 * 1024;
const MORE_TO_COME = 308;
const GIVEN_UP = 499;
/** A session that is not there any more has nothing to remove. */
const NO_SESSION = [404, 410];

/** Parts come one after the other, in their order. */
export class GcsParts implements PartTarget {
  readonly mostParts = Number.POSITIVE_INFINITY;
  readonly #requests: GcsRequests;
  readonly #writing: Writing;
  #session: Promise<string> | undefined;
  /** What the store has. */
  #sent = 0;
  #held: Buffer = Buffer.alloc(0);

  constructor(requests: GcsRequests, writing: Writing) {
    this.#requests = requests;
    this.#writing = writing;
  }

  /** `onlyNew`: fails where the key has an object. */
  async putWhole(bytes: Buffer, onlyNew = false): Promise<void> {
    const { bucket, key, contentType, signal } = this.#writing;
    await this.#requests.tell(this.#failing, {
      method: 'POST',
      url: uploadUrl(bucket, {
        uploadType: 'media',
        name: key,
        ...(onlyNew ? { ifGenerationMatch: '0' } : {}),
      }),
      headers: { 'content-type': contentType },
      body: plain(bytes),
      signal,
    });
  }

  async putPart(bytes: Buffer): Promise<void> {
    const cut = bytes.length - (bytes.length % GRAIN_BYTES);
    if (cut > 0) await this.#send(bytes.subarray(0, cut));
    // Not a view: it would keep the whole part in memory.
    this.#held = Buffer.from(bytes.subarray(cut));
  }

  complete(): Promise<void> {
    return this.#send(this.#held, this.#sent + this.#held.length);
  }

  async remove(): Promise<void> {
    this.#held = Buffer.alloc(0);
    const url = await this.#session?.catch(() => undefined);
    if (url !== undefined)
      await endSession(this.#requests, url, this.#writing.name, momentAfter(this.#writing.signal));
  }

  get #failing(): string {
    return `${this.#writing.name} cannot be written`;
  }

  /** With `total` these are the last bytes. */
  async #send(bytes: Buffer, total?: number): Promise<void> {
    const { signal } = this.#writing;
    const url = await (this.#session ??= beginSession(this.#requests, this.#writing));
    const end = this.#sent + bytes.length;
    const start = this.#sent;
    let isAgain = false;
    await this.#requests.repeat(this.#failing, signal, async () => {
      // After a failure the store may have all of it, or a part.
      if (isAgain && (await this.#askSent(url, total))) return;
      isAgain = true;
      for (;;) {
        if (this.#sent === end && total === undefined) return;
        if (this.#sent < start || this.#sent > end) throw this.#outOfStep();
        const before = this.#sent;
        if (await this.#put(url, bytes.subarray(before - start), total)) return;
        if (this.#sent === before)
          throw new ConnectorError('connection', `${this.#failing}: the store takes nothing`);
      }
    });
    this.#sent = end;
  }

  /** Whether the object is complete. Notes how much of it the store has. */
  async #put(url: string, bytes: Buffer, total: number | undefined): Promise<boolean> {
    const from = this.#sent;
    const range = bytes.length === 0 ? '*' : `${from}-${from + bytes.length - 1}`;
    return this.#answer(url, `bytes ${range}/${total ?? '*'}`, bytes);
  }

  #askSent(url: string, total: number | undefined): Promise<boolean> {
    return this.#answer(url, `bytes */${total ?? '*'}`, Buffer.alloc(0));
  }

  async #answer(url: string, range: string, bytes: Buffer): Promise<boolean> {
    const response = await this.#requests.send(this.#failing, {
      method: 'PUT',
      url,
      headers: { 'content-range': range },
      body: plain(bytes),
      fine: [MORE_TO_COME],
      signal: this.#writing.signal,
    });
    await response.body?.cancel();
    if (response.status !== MORE_TO_COME) return this.#completed(range);
    const last = /-(\d+)$/.exec(response.headers.get('range') ?? '')?.[1];
    this.#sent = last === undefined ? 0 : Number(last) + 1;
    return false;
  }

  #completed(range: string): true {
    if (!range.endsWith('*')) return true;
    throw new ConnectorError('data', `${this.#failing}: the store took a part for the whole`);
  }

  #outOfStep(): ConnectorError {
    return new ConnectorError(
      'refused',
      `${this.#failing}: the store has lost a part of what was sent`,
      { hint: 'run it again' },
    );
  }
}

/** The address to which the object is sent. */
export async function beginSession(requests: GcsRequests, writing: Writing): Promise<string> {
  const { bucket, key, contentType, name, signal } = writing;
  const failing = `${name} cannot be written`;
  return requests.repeat(failing, signal, async () => {
    const response = await requests.send(failing, {
      method: 'POST',
      url: uploadUrl(bucket, { uploadType: 'resumable', name: key }),
      headers: { 'content-type': 'application/json', 'x-upload-content-type': contentType },
      body: JSON.stringify({ contentType }),
      signal,
    });
    await response.body?.cancel();
    const url = response.headers.get('location');
    if (url === null || !URL.canParse(url))
      throw new ConnectorError('data', `${failing}: the store gives no address for the upload`);
    return url;
  });
}

export async function endSession(
  requests: GcsRequests,
  url: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  await requests.tell(`${name} cannot be removed`, {
    method: 'DELETE',
    url,
    fine: [GIVEN_UP, ...NO_SESSION],
    signal,
  });
}

function uploadUrl(bucket: string, query: Readonly<Record<string, string>>): string {
  const words = new URLSearchParams(query).toString();
  return `/upload/storage/v1/b/${encodeURIComponent(bucket)}/o?${words}`;
}

/** The buffers of this process are never shared ones. */
function plain(bytes: Buffer): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
