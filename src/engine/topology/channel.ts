/** An edge of the graph while it runs: a bounded line of pages from one node to another. */
import type { Page } from '../../kit/page.ts';
import type { PageSpill } from './page-spill.ts';

export interface ChannelOptions {
  /** Pages held at most. */
  readonly capacity: number;
  /** Bytes held at most, as far as the sizes of pages are known; one page always fits. */
  readonly capacityBytes: number;
  /** Takes what does not fit, so that the producer never waits. */
  readonly spill?: PageSpill;
}

/**
 * One producer, one consumer. A slow consumer slows the producer; a consumer that leaves never
 * holds it up.
 */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #pages: Page[] = [];
  #bytes = 0;
  #offered = 0;
  #received = 0;
  #left = false;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Records that the producer had for the consumer. */
  get offered(): number {
    return this.#offered;
  }

  /** Records that the consumer has taken. */
  get received(): number {
    return this.#received;
  }

  /** Whether the consumer went before the end. */
  get left(): boolean {
    return this.#left;
  }

  /** Waits for room. False when the consumer has left. */
  async send(page: Page): Promise<boolean> {
    this.#offered += page.count;
    const { spill } = this.#options;
    if (spill === undefined)
      while (!this.#left && this.#isFull(page))
        await new Promise<void>((resolve) => (this.#wakeWriter = resolve));
    if (this.#left) return false;
    if (spill !== undefined && (!spill.empty || this.#isFull(page))) spill.push(page);
    else {
      this.#pages.push(page);
      this.#bytes += page.bytes;
    }
    this.#wake();
    return true;
  }

  /**
   * The next page; `undefined` at the end. Throws the failure of the producer after the pages
   * before it.
   */
  async next(): Promise<Page | undefined> {
    for (;;) {
      if (this.#left) return undefined;
      const page = this.#take();
      if (page !== undefined) {
        this.#received += page.count;
        this.#wake();
        return page;
      }
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  /** No page follows. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  /** The consumer has left; queued pages are dropped. */
  leave(): void {
    if (
      !this.#left &&
      (!this.#ended || this.#pages.length > 0 || this.#options.spill?.empty === false)
    )
      this.#left = true;
    this.#pages.length = 0;
    this.#bytes = 0;
    this.#options.spill?.close();
    this.#wake();
  }

  #take(): Page | undefined {
    const page = this.#pages.shift();
    if (page === undefined) return this.#options.spill?.shift();
    this.#bytes -= page.bytes;
    return page;
  }

  #isFull(page: Page): boolean {
    const { capacity, capacityBytes } = this.#options;
    return (
      this.#pages.length >= capacity ||
      (this.#pages.length > 0 && this.#bytes + page.bytes > capacityBytes)
    );
  }

  #wake(): void {
    const [reader, writer] = [this.#wakeReader, this.#wakeWriter];
    this.#wakeReader = undefined;
    this.#wakeWriter = undefined;
    reader?.();
    writer?.();
  }
}
