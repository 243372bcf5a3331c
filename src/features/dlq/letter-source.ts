/** Dead letters as a source: their payloads, page by page. */
import { z } from 'zod';
import { Page } from '../../kit/page.ts';
import { defineSource, type SourceDefinition } from '../../kit/source.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Letter } from './letters.ts';

/** A page ends after this many records, or when its lines take this many bytes. */
const PAGE_RECORDS = 1000;

export function letterSource(
  letters: () => AsyncIterable<{ readonly letter: Letter; readonly size: number }>,
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
        pages: () => pagesOf(letters(), pageBytes),
        close: () => Promise.resolve(),
      }),
  });
}

async function* pagesOf(
  letters: AsyncIterable<{ readonly letter: Letter; readonly size: number }>,
  most: number,
): AsyncGenerator<Page> {
  let records: JsonValue[] = [];
  let bytes = 0;
  for await (const { letter, size } of letters) {
    records.push(letter.payload);
    bytes += size;
    if (records.length < PAGE_RECORDS && bytes < most) continue;
    yield Page.ofRecords(records, { bytes });
    records = [];
    bytes = 0;
  }
  if (records.length > 0) yield Page.ofRecords(records, { bytes });
}
