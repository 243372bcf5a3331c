import type { JsonValue } from '../../src/lib/text/json.ts';
import { RECORDS_LANE, type Page } from '../../src/kit/page.ts';
import type { Source } from '../../src/kit/source.ts';

/** All pages of a source as records; the source is closed after. */
export async function readAll(
  source: Source,
  request: { bookmark?: JsonValue; limit?: number } = {},
): Promise<Page[]> {
  const pages: Page[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE, ...request })) pages.push(page);
    return pages;
  } finally {
    await source.close();
  }
}
