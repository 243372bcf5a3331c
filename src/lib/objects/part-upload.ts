/** An object that is sent in parts, few of which are in memory at a time. */
import { ConnectorError } from '../errors.ts';
import type { ObjectUpload, UploadRequest } from './object-store.ts';

/** What a store does with the parts of one object. Parts may be sent at the same time. */
export interface PartTarget {
  readonly mostParts: number;
  putWhole(bytes: Buffer): Promise<void>;
  putPart(bytes: Buffer, index: number): Promise<void>;
  /** Makes the object of its parts. */
  complete(): Promise<void>;
  /** Removes the parts that were sent. */
  remove(): Promise<void>;
}

type PartOptions = Pick<UploadRequest, 'sendsParts' | 'concurrency'>;

/** Stores demand 5 MiB of every part but the last. */
const PART_BYTES = 8 * 1024 * 1024;
/** After so many steps of the parts a store allows, parts are twice as large: up to 484 GiB. */
const STEPS = 5;
/** What is under way at the same time, beside the part that is collected. */
const BYTES_AT_ONCE = 64 * 1024 * 1024;

export class PartUpload implements ObjectUpload {
  readonly #target: PartTarget;
  readonly #sendsParts: boolean;
  readonly #concurrency: number;
  readonly #sending = new Set<Promise<void>>();
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #parts = 0;
  #failure: unknown;
  #isEnded = false;
  #isDone = false;

  constructor(target: PartTarget, { sendsParts, concurrency }: PartOptions) {
    this.#target = target;
    this.#sendsParts = sendsParts;
    this.#concurrency = concurrency;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes < this.#partBytes) return;
    const all = Buffer.concat(this.#waiting, this.#waitingBytes);
    let from = 0;
    while (all.length - from >= this.#partBytes) {
      const size = this.#partBytes;
      await this.#send(all.subarray(from, from + size));
      from += size;
    }
    this.#keep(from === all.length ? [] : [all.subarray(from)]);
  }

  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const isWhole = this.#parts === 0 && (!this.#sendsParts || this.#waitingBytes === 0);
    if (!isWhole && this.#waitingBytes > 0) await this.#sendRest();
    await Promise.all(this.#sending);
    this.#throwFailure();
  }

  async commit(): Promise<void> {
    await this.end();
    if (this.#parts > 0) await this.#target.complete();
    else await this.#target.putWhole(Buffer.concat(this.#waiting, this.#waitingBytes));
    this.#keep([]);
    this.#isDone = true;
  }

  async abort(): Promise<void> {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#keep([]);
    await Promise.allSettled(this.#sending);
    if (this.#parts > 0) await this.#target.remove();
  }

  #sendRest(): Promise<void> {
    const rest = Buffer.concat(this.#waiting, this.#waitingBytes);
    this.#keep([]);
    return this.#send(rest);
  }

  #keep(rest: readonly Uint8Array[]): void {
    this.#waiting = [...rest];
    this.#waitingBytes = rest.reduce((sum, { length }) => sum + length, 0);
  }

  get #partBytes(): number {
    const step = Math.floor((this.#parts * STEPS) / this.#target.mostParts);
    return PART_BYTES * 2 ** Math.min(step, STEPS - 1);
  }

  /** Waits until one of the parts under way is through when there are many. */
  async #send(bytes: Buffer): Promise<void> {
    this.#throwFailure();
    if (this.#parts >= this.#target.mostParts)
      throw new ConnectorError(
        'refused',
        `the object is too large: it has more than ${this.#target.mostParts} parts`,
        { hint: 'set `max_bytes_per_file`, so that it becomes several' },
      );
    const index = this.#parts++;
    const part = this.#target
      .putPart(bytes, index)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#sending.delete(part));
    this.#sending.add(part);
    const most = Math.max(1, Math.min(this.#concurrency, BYTES_AT_ONCE / this.#partBytes));
    while (this.#sending.size >= most) await Promise.race(this.#sending);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
