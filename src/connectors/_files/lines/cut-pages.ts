import { JSON_LINES } from '../../../kit/json-lines.ts';
import { learningWriter, type WriteRecord } from '../../../kit/record-text.ts';
import { Page, type Lane, type PageOptions } from '../../../kit/page.ts';
import { PageFill, type PageBounds } from '../../../kit/page-bounds.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { RecordPlace, RejectedRecord, UnreadRecord } from '../../../kit/rejected-record.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { rememberSpelling } from '../../../lib/text/number-spelling.ts';

/** Collects values into pages within the bounds, in the form of the lane. */
export class PageCutter {
  readonly #fill: PageFill;
  readonly #asBytes: boolean;
  readonly #schema: () => RecordSchema | undefined;
  readonly #write: WriteRecord;
  #records: JsonValue[] = [];
  #lines: string[] = [];
  #rejected: RejectedRecord[] = [];
  #places: RecordPlace[] = [];

  /** `schema` is what is known of the fields so far. */
  constructor(
    lane: Lane,
    bounds: PageBounds,
    schema: () => RecordSchema | undefined = () => undefined,
  ) {
    this.#fill = new PageFill(bounds);
    this.#asBytes = lane.form === 'bytes';
    this.#schema = schema;
    this.#write = learningWriter(schema);
  }

  /** Records so far, rejected ones too. */
  get count(): number {
    return this.#fill.count;
  }

  /**
   * Adds the value; false when the page is full: call `take`, then add again. `size` is its encoded
   * size, when known. A place is known of each value, or of none.
   */
  // Called for single records: an object for the arguments would cost time.
  // oxlint-disable-next-line max-params
  add(value: JsonValue, size?: number, place?: RecordPlace, spelled?: string): boolean {
    const line = this.#asBytes || size === undefined ? `${spelled ?? this.#write(value)}\n` : '';
    if (!this.#fill.add(size ?? Buffer.byteLength(line))) return false;
    if (this.#asBytes) this.#lines.push(line);
    else {
      const length = this.#records.push(value);
      if (spelled !== undefined) rememberSpelling(this.#records, String(length - 1), spelled);
    }
    if (place !== undefined) this.#places.push(place);
    return true;
  }

  /** Adds a record that could not be read; false when the page is full. */
  reject(record: UnreadRecord, size: number): boolean {
    const index = this.#fill.count;
    if (!this.#fill.add(size)) return false;
    this.#rejected.push({ ...record, index });
    return true;
  }

  /** Returns the page so far and starts an empty one. */
  take(bookmark?: JsonValue): Page {
    const { bytes } = this.#fill;
    const options: PageOptions = {
      schema: this.#schema(),
      ...(bookmark === undefined ? {} : { bookmark }),
      ...(this.#rejected.length === 0 ? {} : { rejected: this.#rejected }),
      ...(this.#places.length === 0 ? {} : { places: this.#places }),
    };
    const page = this.#asBytes
      ? Page.ofBlock(JSON_LINES, Buffer.from(this.#lines.join('')), this.#lines.length, options)
      : Page.ofRecords(this.#records, { ...options, bytes });
    this.#rejected = [];
    this.#places = [];
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
  /** Where it begins, of sources that reject records. */
  readonly place?: RecordPlace;
  /** How it is written, if it is a number that is not written as usual. */
  readonly spelled?: string | undefined;
  readonly rejected?: undefined;
}

/** In the place of a value that could not be read. */
export interface RejectedLine {
  readonly rejected: UnreadRecord;
  readonly size: number;
}

export type ReadLine = Sized | RejectedLine;

export interface CutOptions {
  readonly lane: Lane;
  readonly bounds: PageBounds;
  readonly limit?: number | undefined;
  /** Checked before every page. */
  readonly signal: AbortSignal;
  /** What is known of the fields when a page is full. */
  readonly schema?: (() => RecordSchema | undefined) | undefined;
}

/** Cuts batches of values into pages; ends after `limit` records, not counting rejected ones. */
export async function* cutPages(
  batches: AsyncIterable<Iterable<ReadLine>>,
  options: CutOptions,
): AsyncGenerator<Page> {
  const cutter = new PageCutter(options.lane, options.bounds, options.schema);
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  for await (const batch of batches) {
    for (const line of batch) {
      if (!added(line, cutter)) {
        options.signal.throwIfAborted();
        yield cutter.take();
        added(line, cutter);
      }
      if (line.rejected !== undefined) continue;
      left -= 1;
      if (left === 0) break;
    }
    if (left === 0) break;
  }
  options.signal.throwIfAborted();
  if (cutter.count > 0) yield cutter.take();
}

function added(line: ReadLine, cutter: PageCutter): boolean {
  return line.rejected === undefined
    ? cutter.add(line.value, line.size, line.place, line.spelled)
    : cutter.reject(line.rejected, line.size);
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
