import { JSON_LINES } from '../../../kit/json-lines.ts';
import { Page, type Lane, type PageOptions } from '../../../kit/page.ts';
import { PageFill, type PageBounds } from '../../../kit/page-bounds.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';

/** Collects values into pages within the bounds, in the form of the lane. */
export class PageCutter {
  readonly #fill: PageFill;
  readonly #asBytes: boolean;
  #records: JsonValue[] = [];
  #lines: string[] = [];

  constructor(lane: Lane, bounds: PageBounds) {
    this.#fill = new PageFill(bounds);
    this.#asBytes = lane.form === 'bytes';
  }

  get count(): number {
    return this.#fill.count;
  }

  /**
   * Adds the value; false when the page is full: call `take`, then add again. `size` is its encoded
   * size, when known.
   */
  add(value: JsonValue, size?: number): boolean {
    const line = this.#asBytes || size === undefined ? `${stringifyJson(value)}\n` : '';
    if (!this.#fill.add(size ?? Buffer.byteLength(line))) return false;
    if (this.#asBytes) this.#lines.push(line);
    else this.#records.push(value);
    return true;
  }

  /** Returns the page so far and starts an empty one. */
  take(bookmark?: JsonValue): Page {
    const { count, bytes } = this.#fill;
    const options: PageOptions = bookmark === undefined ? { bytes } : { bytes, bookmark };
    const page = this.#asBytes
      ? Page.ofBlock(
          JSON_LINES,
          Buffer.from(this.#lines.join('')),
          count,
          bookmark === undefined ? {} : { bookmark },
        )
      : Page.ofRecords(this.#records, options);
    this.#records = [];
    this.#lines = [];
    this.#fill.clear();
    return page;
  }
}

/** A value with its encoded size, where the reader knows it. */
export interface Sized {
  readonly value: JsonValue;
  readonly size?: number;
}

export interface CutOptions {
  readonly lane: Lane;
  readonly bounds: PageBounds;
  readonly limit?: number | undefined;
  /** Checked before every page. */
  readonly signal: AbortSignal;
}

/** Cuts batches of values into pages; ends after `limit` records. */
export async function* cutPages(
  batches: AsyncIterable<Iterable<Sized>>,
  options: CutOptions,
): AsyncGenerator<Page> {
  const cutter = new PageCutter(options.lane, options.bounds);
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  for await (const batch of batches) {
    for (const { value, size } of batch) {
      if (!cutter.add(value, size)) {
        options.signal.throwIfAborted();
        yield cutter.take();
        cutter.add(value, size);
      }
      left -= 1;
      if (left === 0) break;
    }
    if (left === 0) break;
  }
  options.signal.throwIfAborted();
  if (cutter.count > 0) yield cutter.take();
}

/** Values without a known encoded size. */
export async function* unsized(
  batches: AsyncIterable<Iterable<JsonValue>>,
): AsyncGenerator<Iterable<Sized>> {
  for await (const batch of batches) yield sizedLater(batch);
}

function* sizedLater(batch: Iterable<JsonValue>): Generator<Sized> {
  for (const value of batch) yield { value };
}
