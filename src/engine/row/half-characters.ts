import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import type { Log } from '../../lib/log.ts';
import {
  HALF_CHARACTER,
  hasEscapedSurrogate,
  hasHalfCharacter,
} from '../../lib/text/half-character.ts';

/**
 * The same pages. Where the source reads JSON of others, the first record with half of a character
 * is told, and at the end how many there were.
 */
export function tellHalfCharacters(
  pages: AsyncIterable<Page>,
  { readsJson }: Pick<SourceDefinition, 'readsJson'>,
  log: Pick<Log, 'warn'>,
): AsyncIterable<Page> {
  return readsJson === true ? told(pages, log) : pages;
}

async function* told(pages: AsyncIterable<Page>, log: Pick<Log, 'warn'>): AsyncGenerator<Page> {
  let [read, halves] = [0, 0];
  try {
    for await (const page of pages) {
      const records = mayHoldHalves(page) ? page.records() : [];
      for (const [index, record] of records.entries()) {
        if (!hasHalfCharacter(record)) continue;
        halves += 1;
        if (halves > 1) continue;
        const hint = `${HALF_CHARACTER.hint}; further records are only counted`;
        log.warn(HALF_CHARACTER.one, { record: read + index + 1, hint });
      }
      read += page.count;
      yield page;
    }
  } finally {
    if (halves > 1) log.warn(HALF_CHARACTER.all, { records: halves });
  }
}

/** A block that passes on as it came is not read for this: nearly none has such an escape. */
function mayHoldHalves(page: Page): boolean {
  const { form } = page;
  if (form.form !== 'bytes' || form.encoding !== JSON_LINES.name) return true;
  return hasEscapedSurrogate(page.block(JSON_LINES));
}
