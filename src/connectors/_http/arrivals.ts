/** Messages that come by themselves, and the pages that are made of them. */
import type { Lane, Page } from '../../kit/page.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { PageCutter, type Sized } from '../_files/lines/cut-pages.ts';

/** A page that is not full is given after this long. */
const FLUSH_MS = 1000;

/** Messages that are in no page yet: bounded, by asking the sender to wait. */
export class Arrivals {
  readonly #bound: number;
  /** Called with true when there is too much in it, and with false when there is room again. */
  readonly #onFull: (isFull: boolean) => void;
  #messages: Sized[] = [];
  #bytes = 0;
  #isFull = false;
  #end: { readonly error?: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(bound: number, onFull: (isFull: boolean) => void) {
    this.#bound = bound;
    this.#onFull = onFull;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  push(message: Required<Pick<Sized, 'value' | 'size'>>): void {
    if (this.hasEnded) return;
    this.#messages.push(message);
    this.#bytes += message.size;
    if (this.#bytes > this.#bound) this.#setFull(true);
    this.#wake.resolve();
  }

  /** Nothing comes any more; what came is still taken. With an error, whoever takes gets it last. */
  end(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end;
    this.#wake.resolve();
  }

  /** All that came; none when nothing does before the promise settles, `undefined` at the end. */
  async take(until?: Promise<unknown>): Promise<readonly Sized[] | undefined> {
    const { promise } = this.#wake;
    if (this.#messages.length === 0 && !this.hasEnded)
      await (until === undefined ? promise : Promise.race([promise, until]));
    this.#wake = Promise.withResolvers();
    const taken = this.#messages;
    this.#messages = [];
    this.#bytes = 0;
    this.#setFull(false);
    if (taken.length > 0 || this.#end === undefined) return taken;
    if ('error' in this.#end) throw this.#end.error;
    return undefined;
  }

  #setFull(isFull: boolean): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#onFull(isFull);
  }
}

export interface ArrivalPages {
  readonly lane: Lane;
  readonly limit?: number | undefined;
  /** 0: one page of all. */
  readonly batchSize: number;
  readonly pageBytes: number;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
}

/**
 * Ends with the arrivals; rejects with their error behind what came before it, which nobody sends
 * again, and with the reason of the signal at once.
 */
export async function* pagesOf(arrivals: Arrivals, options: ArrivalPages): AsyncGenerator<Page> {
  const { lane, limit = Infinity, batchSize, pageBytes, clock, signal } = options;
  const cutter = new PageCutter(lane, pageBounds(batchSize, pageBytes));
  const over = new AbortController();
  const abort = (): void => arrivals.end({ error: signal.reason });
  signal.addEventListener('abort', abort, { once: true });
  try {
    let left = limit;
    let flush: Promise<unknown> | undefined;
    while (left > 0) {
      if (cutter.count === 0) flush = undefined;
      else if (batchSize > 0) flush ??= clock.sleep(FLUSH_MS, over.signal);
      const messages = await arrivals.take(flush);
      if (messages === undefined) break;
      for (const { value, size } of messages) {
        if (left === 0) break;
        if (!cutter.add(value, size)) {
          yield cutter.take();
          signal.throwIfAborted();
          flush = undefined;
          cutter.add(value, size);
        }
        left -= 1;
      }
      if (messages.length === 0 && cutter.count > 0) yield cutter.take();
    }
    if (cutter.count > 0) yield cutter.take();
  } catch (error) {
    if (cutter.count > 0 && !signal.aborted) yield cutter.take();
    throw error;
  } finally {
    over.abort();
    signal.removeEventListener('abort', abort);
  }
}
