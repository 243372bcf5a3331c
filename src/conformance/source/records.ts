/** Clauses about records and pages. */
import { RECORDS_LANE, type Lane, type Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import { fieldFault } from '../../kit/typed-values.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { SourceClause } from './clause.ts';
import { assertSame, assertThat } from './difference.ts';
import { laneName, requestOf, STOP_MS, within, type SourceSubject } from './subject.ts';

const NO_BATCH_SIZE = 'its config has no `batch_size`';

const records: SourceClause = {
  name: 'records',
  title: 'gives every record once, in order',
  async check(subject) {
    const expected = subject.fixture.records;
    assertThat(expected.length >= 12, 'a fixture needs at least 12 records');
    assertSame((await subject.whole()).records, expected, 'read as a whole', { fieldOrder: false });
  },
};

const repeatable: SourceClause = {
  name: 'repeatable',
  title: 'gives the same when it is read again',
  async check(subject) {
    for (const lane of subject.lanes) {
      const { records: before } = await subject.whole(lane);
      assertSame((await subject.read({ lane })).records, before, `${laneName(lane)}, read again`);
    }
  },
};

const lanes: SourceClause = {
  name: 'lanes',
  title: 'gives the same records, values and types in every lane it offers',
  inapplicable: (subject) => (otherLanes(subject).length === 0 ? 'it has one lane' : undefined),
  async check(subject) {
    const expected = (await subject.whole()).records;
    for (const lane of otherLanes(subject)) {
      const name = laneName(lane);
      const { pages, records: found } = await subject.whole(lane);
      assertSame(found, expected, `in the lane ${name}`);
      const wanted = subject.fixture.fallsBack?.[name] === undefined ? name : 'records';
      const other = pages.find(({ form, page }) => page.count > 0 && laneName(form) !== wanted);
      assertThat(other === undefined, `a page of the lane ${name} has the form ${formOf(other)}`);
    }
  },
};

const schema: SourceClause = {
  name: 'schema',
  title: 'says the types of its fields the same way in every lane, and its values have their forms',
  async check(subject) {
    const [first] = (await subject.whole()).pages;
    const expected = first?.page.schema;
    for (const lane of subject.lanes) {
      const name = laneName(lane);
      const { pages: seen } = await subject.whole(lane);
      const own = seen[0]?.page.schema;
      // A page that only names its rows tells nothing of their values.
      if (own === undefined && isLarge(subject, lane)) continue;
      assertSame([schemaOf(own)], [schemaOf(expected)], `the schema in the lane ${name}`);
      for (const { page, records: held } of seen) {
        assertThat(page.schema === own, `the lane ${name} has more than one schema`);
        if (own === undefined) continue;
        for (const record of held.filter(isObject)) {
          const fault = fieldFault(record, own);
          assertThat(fault === undefined, `the lane ${name}: ${fault} (${schemaText(own)})`);
        }
      }
    }
  },
};

function schemaOf(known: RecordSchema | undefined): JsonValue {
  return known === undefined ? null : (structuredClone(known) as unknown as JsonValue);
}

function otherLanes({ lanes: all }: SourceSubject): Lane[] {
  return all.filter(({ form }) => form !== 'records');
}

function formOf(seen: { form: Parameters<typeof laneName>[0] } | undefined): string {
  return seen === undefined ? '' : laneName(seen.form);
}

const counts: SourceClause = {
  name: 'counts',
  title: 'counts the records and bytes of its pages, and of parts of them, in every lane',
  async check(subject) {
    for (const lane of subject.lanes) {
      for (const { page, records: held } of (await subject.whole(lane)).pages) {
        const where = `a page in the lane ${laneName(lane)}`;
        assertThat(page.count === held.length, `${where} counts ${page.count} of ${held.length}`);
        assertThat(Number.isFinite(page.bytes) && page.bytes >= 0, `${where}: ${page.bytes} bytes`);
        const to = Math.min(3, held.length);
        for (const from of [0, Math.min(1, to)])
          assertSame(page.slice(from, to).records(), held.slice(from, to), `a part of ${where}`);
      }
    }
  },
};

const pages: SourceClause = {
  name: 'pages',
  title: 'holds at most `batch_size` records in a page, in every lane',
  inapplicable: (subject) => (subject.hasBatchSize ? undefined : NO_BATCH_SIZE),
  async check(subject) {
    for (const lane of subject.lanes) {
      for (const size of subject.batchSizes) {
        const where = `batch_size ${size} in the lane ${laneName(lane)}`;
        const run = await subject.read({ lane, batchSize: size });
        const most = Math.max(...run.pages.map(({ page }) => page.count));
        const bound = isLarge(subject, lane) ? Infinity : (size ?? Infinity);
        assertThat(most <= bound, `${where}: a page of ${most} records`);
        assertSame(run.records, (await subject.whole(lane)).records, where);
      }
    }
  },
};

function isLarge({ fixture }: SourceSubject, lane: Lane): boolean {
  return fixture.largePages?.[laneName(lane)] !== undefined;
}

const singlePage: SourceClause = {
  name: 'single_page',
  title: 'gives one single page when `batch_size` is 0',
  inapplicable: (subject) =>
    subject.capabilities.unbounded === undefined
      ? subject.hasBatchSize
        ? undefined
        : NO_BATCH_SIZE
      : 'it does not end',
  async check(subject) {
    // Some lanes are offered only where pages have a size.
    for (const lane of subject.with({ ...subject.config, batch_size: 0 }).lanes) {
      const run = await subject.read({ lane, batchSize: 0 });
      const filled = run.pages.filter(({ page }) => page.count > 0);
      assertThat(filled.length === 1, `${laneName(lane)}: ${filled.length} pages`);
      assertSame(run.records, (await subject.whole(lane)).records, laneName(lane));
    }
  },
};

const byteBound: SourceClause = {
  name: 'byte_bound',
  title: 'ends a page early when it grows beyond the byte bound, but holds at least one record',
  async check(subject) {
    for (const lane of subject.lanes) {
      const run = await subject.read({ lane, pageBytes: 1 });
      assertThat(
        run.pages.length > 1 || isLarge(subject, lane),
        `${laneName(lane)}: one page beyond the bound`,
      );
      assertSame(run.records, (await subject.whole(lane)).records, laneName(lane));
    }
  },
};

const limit: SourceClause = {
  name: 'limit',
  title: 'gives the first records, and no fewer than asked for, under a limit',
  async check(subject) {
    for (const lane of subject.lanes) {
      const { records: all } = await subject.whole(lane);
      for (const most of [1, 4, all.length - 1, all.length, all.length + 5]) {
        const { records: found } = await subject.read({ lane, limit: most });
        const where = `limit ${most} of ${all.length} in the lane ${laneName(lane)}`;
        assertThat(
          found.length >= Math.min(most, all.length),
          `${where}: only ${found.length} records`,
        );
        assertSame(found, all.slice(0, found.length), where);
      }
    }
  },
};

/** Pages are read as the page loop does: the next one is asked for before one is looked at. */
const pageLifetime: SourceClause = {
  name: 'page_lifetime',
  title: 'leaves a page alone until it is released, while later ones are read',
  async check(subject) {
    for (const lane of subject.lanes) {
      const { pages: run, records: all } = await subject.whole(lane);
      for (const { page, records: held } of run)
        assertSame(page.records(), held, `a page of the lane ${laneName(lane)}, at the end`);
      for (const batchSize of subject.batchSizes) {
        const found = await readLate(subject, { lane, batchSize });
        assertSame(found, all, `pages of ${batchSize} of the lane ${laneName(lane)}, released`);
      }
    }
  },
};

async function readLate(
  subject: SourceSubject,
  options: { lane: typeof RECORDS_LANE; batchSize: number | undefined },
): Promise<JsonValue[]> {
  const stop = new AbortController();
  const source = await subject.open({ ...options, signal: stop.signal });
  const found: JsonValue[] = [];
  const late: Page[] = [];
  const take = (page: Page): void => {
    found.push(...structuredClone([...page.records()]));
    page.release();
  };
  try {
    const wanted = (await subject.whole(options.lane)).records.length;
    let read = 0;
    for await (const page of source.pages(requestOf(options))) {
      read += page.count;
      late.push(page);
      if (late.length > 1) take(late.shift() as Page);
      if (subject.capabilities.unbounded !== undefined && read >= wanted) break;
    }
    late.forEach(take);
    return found;
  } finally {
    await source.close();
  }
}

/** How long a record is waited for that must not come. */
const WRONG_MS = 4000;

const empty: SourceClause = {
  name: 'empty',
  title: 'gives no record of a data set without any, and ends without an error',
  inapplicable: ({ fixture }) =>
    fixture.empty === undefined ? 'its fixture has no data set without records' : undefined,
  async check(subject) {
    const bare = subject.with((await subject.fixture.empty?.()) ?? {});
    for (const lane of bare.lanes)
      assertSame((await bare.read({ lane, lateMs: WRONG_MS })).records, [], laneName(lane));
  },
};

const lazy: SourceClause = {
  name: 'lazy',
  title: 'reads nothing before somebody asks for the first page',
  inapplicable: ({ fixture }) =>
    fixture.change === undefined ? 'its fixture cannot change the data set' : undefined,
  async check(subject) {
    const stop = new AbortController();
    const source = await subject.open({ signal: stop.signal });
    try {
      const changed = (await subject.fixture.change?.(subject.config)) ?? [];
      const { records: found } = await subject.readFrom(source, {}, stop);
      assertSame(found, changed, 'changed after it was opened', { fieldOrder: false });
    } finally {
      await source.close();
    }
  },
};

const close: SourceClause = {
  name: 'close',
  title: 'can be closed twice, before the first page, in the middle and at the end',
  async check(subject) {
    const { records: all } = await subject.whole();
    for (const most of [0, 1, Infinity]) {
      if (most === Infinity && subject.capabilities.unbounded !== undefined) continue;
      const source = await subject.open();
      let read = 0;
      if (most > 0)
        for await (const page of source.pages({ lane: RECORDS_LANE })) {
          read += page.count;
          if (most === 1) break;
        }
      assertThat(most < Infinity || read === all.length, 'the end was not reached');
      for (const time of ['once', 'again'])
        await within(STOP_MS, source.close(), `closes ${time} after ${read} records`);
    }
    assertSame((await subject.read()).records, all, 'read after others were left');
  },
};

export const RECORD_CLAUSES: readonly SourceClause[] = [
  records,
  repeatable,
  lanes,
  schema,
  counts,
  pages,
  singlePage,
  byteBound,
  limit,
  pageLifetime,
  empty,
  lazy,
  close,
];
