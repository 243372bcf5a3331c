import type { Page } from '../../kit/page.ts';
import type { WorkedPage } from '../stages/page-work.ts';

/** Runs the stages of a row on pages. */
export interface StagePool {
  /** How many pages it works on at a time; may change while the row runs. */
  readonly width: number;
  /** Never rejects. */
  work(page: Page): Promise<WorkedPage>;
  close(): Promise<void>;
}

/** A page as it was read, and the result of the stages. */
export interface PrefetchedPage {
  readonly page: Page;
  readonly worked: WorkedPage;
}

/** About the most bytes in pages that are being worked on or wait for an earlier page. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Yields pages in the order in which they were read, although the pool works on several at a time. A
 * finished page never waits for a later one to be read. `next` returns `undefined` at the end; what
 * it throws is thrown here after all pages before it were yielded.
 */
export async function* orderedPrefetch(
  next: () => Promise<Page | undefined>,
  pool: StagePool,
): AsyncGenerator<PrefetchedPage, void, undefined> {
  const queue: {
    readonly page: Page;
    readonly bytes: number;
    readonly worked: Promise<WorkedPage>;
  }[] = [];
  let held = 0;
  let reading: Promise<void> | undefined;
  let end: { readonly failure?: unknown } | undefined;
  const read = async (): Promise<void> => {
    try {
      const page = await next();
      if (page === undefined) end = {};
      else {
        held += page.bytes;
        queue.push({ page, bytes: page.bytes, worked: pool.work(page) });
      }
    } catch (failure) {
      end = { failure };
    }
    reading = undefined;
  };
  const readMore = (): void => {
    const hasRoom = queue.length === 0 || (queue.length < pool.width && held < MOST_BYTES);
    if (end === undefined && hasRoom) reading ??= read();
  };
  for (;;) {
    readMore();
    const [first] = queue;
    if (first === undefined) {
      if (reading === undefined) break;
      await reading;
      continue;
    }
    const worked = await (reading === undefined
      ? first.worked
      : Promise.race([first.worked, reading]));
    if (worked === undefined) continue;
    queue.shift();
    held -= first.bytes;
    // The calling thread gets no new page while another one is written to the sink.
    if (pool.width > 1) readMore();
    yield { page: first.page, worked };
  }
  if (end !== undefined && 'failure' in end) throw end.failure;
}
