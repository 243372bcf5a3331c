/** Collects the rows of a result in pages of JSON Lines as they come. */
import { isFull, type PageBounds } from '../../../kit/page-bounds.ts';
import type { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { FIRST_CAPACITY, linePages } from '../../../fast/json/line-blocks.ts';
import { RowLines, type LineField } from '../../../fast/mysql/row-lines.ts';
import { HIGH_WATER, type RowStore } from './result.ts';

export interface LineOptions {
  readonly columns: readonly LineField[];
  /** Bytes that names and punctuation add to the values of a record. */
  readonly frame: number;
  readonly bounds: PageBounds;
  readonly schema: RecordSchema;
  readonly limit?: number | undefined;
}

export function createLineStore(options: LineOptions): RowStore<Page> {
  const { columns, frame, bounds, schema, limit } = options;
  const writer = new RowLines(columns, FIRST_CAPACITY);
  const pageOf = linePages(writer);
  const ready: Page[] = [];
  let waiting = 0;
  let count = 0;
  let bytes = 0;
  let left = limit ?? Number.POSITIVE_INFINITY;
  const endPage = (): void => {
    if (count === 0) return;
    ready.push(pageOf(count, { bytes, schema }));
    waiting += bytes;
    count = 0;
    bytes = 0;
  };
  return {
    addPacket(row, from, to) {
      if (left <= 0) return;
      if (isFull(bounds, count, bytes)) endPage();
      bytes += frame + writer.row(row, from, to);
      count += 1;
      left -= 1;
      if (left <= 0) endPage();
    },
    get isFull() {
      return left <= 0 || (ready.length > 0 && waiting + bytes >= HIGH_WATER);
    },
    get hasAll() {
      return left <= 0 && ready.length === 0;
    },
    take(state) {
      if (state === 'over') endPage();
      const page = ready.shift();
      waiting -= page?.bytes ?? 0;
      return page;
    },
  };
}
