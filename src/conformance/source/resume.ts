/** Clauses about bookmarks. */
import { isObject, parseJson, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { SourceClause } from './clause.ts';
import { assertSame, assertThat, difference, shown } from './difference.ts';
import { laneName, type ReadOptions, type SeenRun, type SourceSubject } from './subject.ts';

const bookmarks: SourceClause = {
  name: 'bookmarks',
  title: 'carries bookmarks exactly when it says so, and they are plain JSON',
  async check(subject) {
    for (const lane of subject.lanes) {
      const { pages } = await subject.whole(lane);
      const found = pages.filter(({ bookmark }) => bookmark !== undefined);
      const { bookmarks: promised } = subject.capabilities;
      assertThat(
        found.length > 0 === promised,
        `${laneName(lane)}: ${found.length} bookmarks where \`bookmarks\` is ${promised}`,
      );
      for (const { bookmark = null } of found) assertIsJson(bookmark);
    }
  },
};

function assertIsJson(bookmark: JsonValue): void {
  const again = parseJson(stringifyJson(bookmark));
  const found = difference(bookmark, again, { fieldOrder: false });
  assertThat(found === undefined, `a bookmark does not survive as JSON: ${found}`);
}

const resume: SourceClause = {
  name: 'resume',
  title: 'reading on from any bookmark gives exactly the records after it, in every lane',
  inapplicable: ({ capabilities }) => whyNotResumed(capabilities),
  async check(subject) {
    for (const lane of subject.lanes) {
      const { records: all } = await subject.whole(lane);
      for (const options of waysToRead(subject)) {
        const run = await subject.read({ ...options, lane });
        assertSame(run.records, all.slice(0, run.records.length), wayName(options, lane));
        await assertRests(subject, run, { ...options, lane });
      }
    }
  },
};

export function whyNotResumed({
  bookmarks: has,
  unbounded,
}: SourceSubject['capabilities']): string | undefined {
  if (unbounded?.redelivery === 'upstream') return 'the other side remembers what was moved';
  return has ? undefined : 'it has no bookmarks';
}

/** Under a limit too: a bookmark must not stand beyond the records that were given. */
function waysToRead(subject: SourceSubject): ReadOptions[] {
  const part = Math.ceil(subject.fixture.records.length / 2);
  return subject.exactness.flatMap((exact) =>
    subject.batchSizes.flatMap((batchSize) =>
      [undefined, part].map((limit) => ({ exact, batchSize, limit })),
    ),
  );
}

async function assertRests(
  subject: SourceSubject,
  run: SeenRun,
  options: ReadOptions,
): Promise<void> {
  const { records: all } = await subject.whole(options.lane);
  const marked = run.pages.filter(({ bookmark }) => bookmark !== undefined);
  // A limit can only change the bookmark of the page that it cuts short.
  for (const { bookmark, position } of options.limit === undefined ? marked : marked.slice(-1)) {
    const expected = all.length - position;
    const from = { ...options, bookmark, expected, limit: undefined };
    const rest = await subject.read(from);
    assertRest(subject, rest.records, { all, position, options: from });
    if (options.limit === undefined && options.batchSize === secondSize(subject))
      await assertLaterRests(subject, rest, { ...from, exact: options.exact });
  }
}

/** The bookmarks of a read that was resumed itself are as good as those of the first. */
async function assertLaterRests(
  subject: SourceSubject,
  run: SeenRun,
  options: ReadOptions,
): Promise<void> {
  for (const { bookmark, position } of run.pages) {
    if (bookmark === undefined) continue;
    const from = { ...options, bookmark, expected: run.records.length - position };
    const { records } = await subject.read(from);
    assertRest(subject, records, { all: run.records, position, options: from });
  }
}

/** Of all pairs of resumed reads those of one page size are enough. */
function secondSize({ batchSizes }: SourceSubject): number | undefined {
  return batchSizes[1] ?? batchSizes[0];
}

interface Rest {
  readonly all: readonly JsonValue[];
  readonly position: number;
  readonly options: ReadOptions;
}

/** `rest` is what was read from a bookmark that stands after `position` records of `all`. */
function assertRest(
  { fixture }: SourceSubject,
  given: readonly JsonValue[],
  { all: known, position, options }: Rest,
): void {
  const counted = fixture.ofOneRead ?? [];
  const [rest, all] = [withoutCounts(given, counted), withoutCounts(known, counted)];
  const where = `${wayName(options, options.lane)}, from ${shown(options.bookmark)} after ${position} records`;
  const repeated = rest.length - (all.length - position);
  if (fixture.overlap === undefined || options.exact === true || repeated <= 0)
    return assertSame(rest, all.slice(position), where);
  assertSame(rest, all.slice(Math.max(0, position - repeated)), where);
  assertThat(
    fixture.overlap.allows(rest.slice(0, repeated), rest.slice(repeated)),
    `${where}: ${repeated} records come again that should not`,
  );
}

function withoutCounts(
  records: readonly JsonValue[],
  counted: readonly string[],
): readonly JsonValue[] {
  if (counted.length === 0) return records;
  return records.map((record) =>
    isObject(record)
      ? Object.fromEntries(Object.entries(record).filter(([name]) => !counted.includes(name)))
      : record,
  );
}

function wayName({ batchSize, exact, limit }: ReadOptions, lane: ReadOptions['lane']): string {
  const parts = [
    batchSize === undefined ? '' : `batch_size ${batchSize}`,
    exact === true ? 'exact' : '',
    limit === undefined ? '' : `limit ${limit}`,
    lane === undefined ? '' : laneName(lane),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

export const BOOKMARK_CLAUSES: readonly SourceClause[] = [bookmarks, resume];
