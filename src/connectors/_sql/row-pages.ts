/** Pages of the rows of a statement, as they come. */
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { isFull, pageBounds } from '../../kit/page-bounds.ts';
import type { RecordField } from '../../kit/record-schema.ts';
import { encodedSize } from '../../kit/rough-size.ts';
import type { ReadRequest } from '../../kit/source.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { createPager } from './pager.ts';
import { resultMarks } from './record-marks.ts';

export interface RowReading {
  readonly config: {
    readonly batch_size: number;
    readonly replication: { readonly type: string; readonly column?: string };
  };
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
  readonly fields: readonly RecordField[];
  /** The next rows, with values in the order of `fields`; `undefined` at the end. */
  next(this: void): Promise<readonly (readonly JsonValue[])[] | undefined>;
  /** Gives names that the database takes for one the same form. */
  comparable(this: void, name: string): string;
}

export async function* pagesOfRows(reading: RowReading): AsyncGenerator<Page, void> {
  const { config, context, request, fields, next } = reading;
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const schema = { fields };
  const pager = createPager({ bounds, limit: request.limit, schema: () => schema });
  if (pager.done) return;
  const marks = resultMarks(reading, fields, reading.comparable);
  let bytes = 0;
  for (;;) {
    context.signal.throwIfAborted();
    const rows = await next();
    if (rows === undefined) break;
    for (const values of rows) {
      const record = recordOf(fields, values);
      const raw = marks === undefined ? '' : marks.rawOf(record);
      if (marks?.bookmarks.wasRead(raw, () => record) === true) continue;
      // The row after a page shows whether the page ended in the middle of equal values.
      if (isFull(bounds, pager.count, bytes)) {
        yield pager.take(marks?.bookmarks.before(raw));
        context.signal.throwIfAborted();
        bytes = 0;
      }
      marks?.bookmarks.pass(raw, () => record);
      const size = encodedSize(record);
      pager.add(record, size);
      bytes += size;
      if (!pager.done) continue;
      yield pager.take(marks?.bookmarks.safe());
      return;
    }
    marks?.bookmarks.settle();
  }
  if (pager.count > 0) yield pager.take(marks?.bookmarks.end());
}

function recordOf(fields: readonly RecordField[], values: readonly JsonValue[]): JsonObject {
  const record: JsonObject = {};
  for (const [at, { name }] of fields.entries()) setField(record, name, values[at] ?? null);
  return record;
}
