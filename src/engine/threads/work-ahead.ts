import type { Page } from '../../kit/page.ts';
import type { WorkedPage } from '../stages/page-work.ts';

/** Who works on the pages of a row. */
export interface Crew {
  /** How many pages may be with it at a time; may change as the row goes on. */
  readonly width: number;
  /** Never rejects. */
  work(page: Page): Promise<WorkedPage>;
  close(): Promise<void>;
}

/** A page as it was read, and what became of it. */
export interface PageThroughWork {
  readonly page: Page;
  readonly worked: WorkedPage;
}

/**
 * What is with the crew, or through and waiting for a page before it, holds at most about so many
 * bytes.
 */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Gives pages in the order in which they were read, however many the crew has at a time. A page
 * that is through never waits for one that is still to be read. `next` gives the pages, and
 * `undefined` when there are no more; what it throws is thrown when all pages before are through.
 */
export async function* workAhead(
  next: () => Promise<Page | undefined>,
  crew: Crew,
): AsyncGenerator<PageThroughWork, void, undefined> {
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
        queue.push({ page, bytes: page.bytes, worked: crew.work(page) });
      }
    } catch (failure) {
      end = { failure };
    }
    reading = undefined;
  };
  const readMore = (): void => {
    const hasRoom = queue.length === 0 || (queue.length < crew.width && held < MOST_BYTES);
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
    // Who works alone is not to have a page while another is on its way to the sink.
    if (crew.width > 1) readMore();
    yield { page: first.page, worked };
  }
  if (end !== undefined && 'failure' in end) throw end.failure;
}
