import type { JsonValue } from '../../lib/text/json.ts';
import { PageFill, type PageBounds } from '../../kit/page-bounds.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';

export interface PagerLimits {
  readonly bounds: PageBounds;
  /** Maximum number of records in all pages. */
  readonly limit?: number | undefined;
  /** Asked for each page. */
  schema?(this: void): RecordSchema | undefined;
}

export interface Pager {
  /** Adds a record of about `bytes` bytes; true when the page is full. */
  add(record: JsonValue, bytes: number): boolean;
  readonly count: number;
  /** Whether the limit is reached. */
  readonly done: boolean;
  /** Returns the page so far and starts the next one. */
  take(bookmark?: JsonValue): Page;
}

/** Collects records into pages limited by count and by bytes. */
export function createPager({
  bounds,
  limit = Number.POSITIVE_INFINITY,
  schema = () => undefined,
}: PagerLimits): Pager {
  let records: JsonValue[] = [];
  const fill = new PageFill(bounds);
  let left = limit;
  return {
    add(record, bytes) {
      records.push(record);
      fill.added(bytes);
      left -= 1;
      return left <= 0 || fill.isFull;
    },
    get count() {
      return records.length;
    },
    get done() {
      return left <= 0;
    },
    take(bookmark) {
      const { bytes: size } = fill;
      const page = Page.ofRecords(
        records,
        bookmark === undefined
          ? { bytes: size, schema: schema() }
          : { bytes: size, bookmark, schema: schema() },
      );
      records = [];
      fill.clear();
      return page;
    },
  };
}
