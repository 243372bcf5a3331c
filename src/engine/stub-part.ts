/** A source that gives fixed records, and the part plan that uses it in place of the real one. */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';
import { Page } from '../kit/page.ts';
import type { RecordSchema } from '../kit/record-schema.ts';
import { defineSource, type SourceCapabilities, type SourceDefinition } from '../kit/source.ts';
import type { PlannedPart } from '../plan/plan.ts';

export interface FixturePages {
  readonly records: readonly JsonValue[];
  /** 0: all in one page. */
  readonly pageSize: number;
  /** Whether pages have bookmarks, and the source continues from them. */
  readonly bookmarks: boolean;
  readonly replay: SourceCapabilities['replay'];
}

const noSettings = z.any().meta({ description: 'Nothing to set.' });

/** Gives copies: a stage that changes a record must not change another page or case. */
export function fixtureSource({
  records,
  pageSize,
  bookmarks,
  replay,
}: FixturePages): SourceDefinition {
  const size = pageSize === 0 ? Math.max(records.length, 1) : pageSize;
  return defineSource({
    type: 'fixture',
    description: 'Fixed records.',
    config: noSettings,
    examples: [],
    capabilities: () => ({ replay, bookmarks, encodings: [] }),
    datasetUri: () => 'fixture:records',
    open: () =>
      Promise.resolve({
        // oxlint-disable-next-line typescript/require-await -- the contract of a source is
        // asynchronous
        async *pages({ bookmark }) {
          const start = bookmarks && typeof bookmark === 'number' ? bookmark : 0;
          for (let from = start; from < records.length; from += size) {
            const page = structuredClone(records.slice(from, from + size));
            yield Page.ofRecords(page, bookmarks ? { bookmark: from + page.length } : {});
          }
        },
        close: () => Promise.resolve(),
      }),
  });
}

const PAGE_RECORDS = 1000;

/** Gives the records themselves, with all that they carry, and tells their types. */
export function recordSource(
  records: readonly JsonValue[],
  schema: RecordSchema | undefined,
): SourceDefinition {
  return defineSource({
    type: 'records',
    description: 'Records that are known already.',
    config: noSettings,
    examples: [],
    capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
    datasetUri: () => 'fixture:records',
    open: () =>
      Promise.resolve({
        // oxlint-disable-next-line typescript/require-await -- the contract of a source is
        // asynchronous
        async *pages() {
          for (let from = 0; from < records.length; from += PAGE_RECORDS) {
            yield Page.ofRecords(records.slice(from, from + PAGE_RECORDS), { schema });
          }
        },
        close: () => Promise.resolve(),
      }),
  });
}

/**
 * The part with another definition; type, preset and path stay, because rules and messages name
 * them.
 */
export function stubPart<D>(
  part: PlannedPart<unknown>,
  definition: D,
  parsed: unknown = {},
): PlannedPart<D> {
  const { path, type, preset } = part;
  return { path, type, preset, definition, config: {}, deferred: false, parsed, judged: parsed };
}
