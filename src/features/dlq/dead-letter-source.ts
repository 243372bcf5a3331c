/** Dead letters as a source: their payloads, page by page. */
import { z } from 'zod';
import { Page } from '../../kit/page.ts';
import { defineSource, type SourceDefinition } from '../../kit/source.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { DeadLetter } from './dead-letters.ts';

/** A page ends after this many records, or when its lines take this many bytes. */
const PAGE_RECORDS = 1000;

export function deadLetterSource(
  deadLetters: () => AsyncIterable<{ readonly deadLetter: DeadLetter; readonly size: number }>,
): SourceDefinition {
  return defineSource({
    type: 'dlq',
    description: 'Payloads of dead letters.',
    config: z.any(),
    examples: [],
    capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
    datasetUri: () => 'dlq://',
    open: (_config, { pageBytes }) =>
      Promise.resolve({
        pages: () => pagesOf(deadLetters(), pageBytes),
        close: () => Promise.resolve(),
      }),
  });
}

async function* pagesOf(
  deadLetters: AsyncIterable<{ readonly deadLetter: DeadLetter; readonly size: number }>,
  most: number,
): AsyncGenerator<Page> {
  let records: JsonValue[] = [];
  let bytes = 0;
  let schema: RecordSchema | undefined;
  const take = (): Page => {
    const page = Page.ofRecords(records, { bytes, schema });
    records = [];
    bytes = 0;
    return page;
  };
  for await (const { deadLetter, size } of deadLetters) {
    // A page has one schema; dead letters of one run mostly have the same.
    if (records.length > 0 && !isSame(schema, deadLetter.schema)) yield take();
    if (records.length === 0 && !isSame(schema, deadLetter.schema)) schema = deadLetter.schema;
    records.push(deadLetter.payload);
    bytes += size;
    if (records.length >= PAGE_RECORDS || bytes >= most) yield take();
  }
  if (records.length > 0) yield take();
}

function isSame(a: RecordSchema | undefined, b: RecordSchema | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const order = JSON.stringify(a.order) === JSON.stringify(b.order);
  return order && schemaText(a) === schemaText(b);
}
