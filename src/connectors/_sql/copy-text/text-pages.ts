/**
 * Cuts a stream of COPY text rows into pages. A collector decides what a page holds; pages end at
 * the same rows for all collectors.
 */
import type { Collector } from '../../../fast/copy-text/line-pages.ts';
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { isFull, type PageBounds } from '../../../kit/page-bounds.ts';
import { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { Bookmarks } from '../bookmarks.ts';
import { FRAME_HEAD, frameEnd } from './frames.ts';
import { fieldEnd, fieldText, isNullField } from './text-fields.ts';

/** A column of the result, and how the text of its values is read. */
export interface TextColumn {
  readonly name: string;
  readonly decode: (text: string) => JsonValue;
}

export interface CutOptions {
  readonly collector: Collector;
  /** Decodes the values for bookmarks, which tell all numbers apart. */
  readonly exact: readonly TextColumn[];
  /** Bytes that names and punctuation add to the values of a record. */
  readonly frame: number;
  readonly bounds: PageBounds;
  readonly schema: RecordSchema;
  readonly signal: AbortSignal;
  /** Most records of all pages; the result is not read further. */
  readonly limit?: number | undefined;
  readonly marks?: { readonly bookmarks: Bookmarks; readonly column: number } | undefined;
}

export async function* cutPages(
  chunks: AsyncIterable<Buffer>,
  options: CutOptions,
): AsyncGenerator<Page, void> {
  const { bounds, collector, exact, frame, limit, marks, schema } = options;
  const read = marks === undefined ? undefined : rowReader(exact);
  let count = 0;
  let bytes = 0;
  let left = limit ?? Number.POSITIVE_INFINITY;
  const take = (bookmark: JsonValue | undefined): Page => {
    const page = collector.take(
      bookmark === undefined ? { bytes, schema } : { bytes, bookmark, schema },
    );
    count = 0;
    bytes = 0;
    return page;
  };
  for await (const chunk of chunks) {
    let to = 0;
    for (let at = 0; at < chunk.length; at = to) {
      to = frameEnd(chunk, at);
      const from = at + FRAME_HEAD;
      const raw = marks === undefined ? '' : valueAt(chunk, from, marks.column);
      const record = read === undefined ? undefined : () => read(chunk, from);
      if (record !== undefined && marks?.bookmarks.wasRead(raw, record) === true) continue;
      // The row after a page shows whether the page ended in the middle of equal values.
      if (isFull(bounds, count, bytes)) {
        yield take(marks?.bookmarks.before(raw));
        options.signal.throwIfAborted();
      }
      if (record !== undefined) marks?.bookmarks.pass(raw, record);
      collector.add(chunk, from, to);
      count += 1;
      bytes += frame + to - from;
      left -= 1;
      if (left <= 0) {
        yield take(marks?.bookmarks.safe());
        return;
      }
    }
    marks?.bookmarks.settle();
  }
  if (count > 0) yield take(marks?.bookmarks.end());
}

/** The raw value of a column: values are separated by tabs, and a line feed follows each row. */
function valueAt(chunk: Buffer, from: number, column: number): string {
  let at = from;
  for (let passed = 0; passed < column; passed += 1) at = fieldEnd(chunk, at) + 1;
  return fieldText(chunk, at, fieldEnd(chunk, at));
}

/** Pages of records. */
export function collectRecords(columns: readonly TextColumn[]): Collector {
  const read = rowReader(columns);
  let records: JsonObject[] = [];
  return {
    add: (chunk, from) => void records.push(read(chunk, from)),
    take(options) {
      const page = Page.ofRecords(records, options);
      records = [];
      return page;
    },
  };
}

function rowReader(columns: readonly TextColumn[]): (chunk: Buffer, from: number) => JsonObject {
  return (chunk, from) => {
    const record: JsonObject = {};
    let at = from;
    for (const { name, decode } of columns) {
      const end = fieldEnd(chunk, at);
      setField(
        record,
        name,
        isNullField(chunk, at, end) ? null : decode(fieldText(chunk, at, end)),
      );
      at = end + 1;
    }
    return record;
  };
}
