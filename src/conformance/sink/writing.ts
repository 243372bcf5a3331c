/** Clauses about one open sink: order, counts, pages that fail, single records that are refused. */
import assert from 'node:assert/strict';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page } from '../../kit/page.ts';
import type { Sink, WriteResult } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { columnsOf } from '../columns-of.ts';
import type { SinkClause } from './clause.ts';
import type { Destination, Encode } from '../../kit/sink-fixture.ts';
import { connectorFailureOf, failureOf, row, write, type SinkSubject } from './subject.ts';

const order: SinkClause = {
  name: 'order',
  title: 'stores records in the order they were written in',
  inapplicable: ({ fixture }) => fixture.unordered,
  async check(subject) {
    const to = await subject.fresh();
    const pages = [[row(3), row(1)], [row(2)], [row(9), row(4), row(5)]];
    await subject.run(to.config, pages);
    await subject.expectRows(to, pages.flat(), 'after the run', { ordered: true });
  },
};

const empty: SinkClause = {
  name: 'empty',
  title: 'takes empty pages and runs without any',
  async check(subject) {
    const none = await subject.fresh();
    assert.equal(await subject.run(none.config, []), 0);
    await subject.expectRows(none, [], 'after a run without pages');
    const to = await subject.fresh();
    assert.equal(await subject.run(to.config, [[], [row(1)], []]), 1);
    await subject.expectRows(to, [row(1)], 'after empty pages');
  },
};

/** Every record of a page is told of once, and what is told as written is there. */
const counts: SinkClause = {
  name: 'counts',
  title: 'counts what it wrote, page by page',
  async check(subject) {
    const to = await subject.fresh();
    await subject.using(to.config, async (sink) => {
      const pages = [
        [row(1), row(2), row(3)],
        [row(4)],
        Array.from({ length: 40 }, (_, n) => row(10 + n)),
      ];
      let written = 0;
      for (const page of pages) {
        const result = await write(sink, page);
        assert.equal(
          told(result),
          page.length,
          'the counts of a page do not add up to its records',
        );
        written += result.written;
        if (!subject.capabilities.flushDurable) continue;
        await sink.flush();
        assert.equal((await to.rows())?.length ?? 0, written, 'another number of records is there');
      }
      await sink.flush();
      await sink.finish('success');
      assert.equal((await to.rows())?.length ?? 0, written, 'another number of records is there');
    });
  },
};

function told({ written, skipped = 0, rejected }: WriteResult): number {
  return written + skipped + rejected.length;
}

const lanes: SinkClause = {
  name: 'lanes',
  title: 'writes the same from every form of page it takes',
  inapplicable: ({ capabilities: { encodings, columns } }) =>
    encodings.length === 0 && columns !== true ? 'takes records only' : undefined,
  async check(subject) {
    const { encodings, columns } = subject.capabilities;
    const records = [row(1), row(2, 'é "quoted", and\nmore'.replace('\n', ' ')), row(3, '')];
    for (const encoding of encodings) {
      const encode = encoding === JSON_LINES.name ? jsonLines : subject.fixture.encoded?.[encoding];
      if (encode === undefined)
        assert.fail(`the fixture makes no pages of \`${encoding}\`: add them to \`encoded\``);
      await encode(records, (page) => sameAsRecords(subject, encoding, { records, page }));
    }
    if (columns !== true) return;
    const rows = records.map(({ id, v }) => [id, v]);
    const page = Page.ofColumns(columnsOf(['id', 'v'], rows));
    await sameAsRecords(subject, 'columns', { records, page });
  },
};

const jsonLines: Encode = (records, use) =>
  use(Page.ofBlock(JSON_LINES, JSON_LINES.encode(records), records.length));

interface Forms {
  readonly records: readonly JsonObject[];
  readonly page: Page;
}

async function sameAsRecords(
  subject: SinkSubject,
  form: string,
  { records, page }: Forms,
): Promise<void> {
  // The first page as records: a table is there then, and its columns are known.
  const plain = await subject.fresh();
  await subject.run(plain.config, [[row(0)], records]);
  const expected = (await plain.rows()) ?? [];
  const other = await subject.fresh();
  await subject.using(other.config, async (sink) => {
    await write(sink, [row(0)]);
    const result = await sink.write(page, { partial: false });
    assert.equal(told(result), records.length, `${form}: the counts do not add up`);
    await sink.flush();
    await sink.finish('success');
  });
  await subject.expectRows(other, expected, `from ${form}`);
}

/** A page that the destination cannot take, and what stood there before. */
interface FailingPage {
  readonly to: Destination;
  readonly config: JsonObject;
  readonly before: readonly JsonObject[];
  readonly page: readonly JsonValue[];
}

async function failingPage(subject: SinkSubject): Promise<FailingPage> {
  const to = await subject.fresh();
  const before = [row(1), row(2)];
  const { refused } = subject.fixture;
  if (subject.offers('upsert')) {
    // The key of the table is unique now: an appended row with a known key is refused.
    await subject.run(subject.keyed(to.config), [before]);
    return { to, config: to.config, before, page: [row(3), row(1, 'again'), row(4)] };
  }
  if (refused !== undefined)
    return { to, config: to.config, before: [], page: [row(3), refused, row(4)] };
  return { to, config: to.config, before: [], page: [row(3), 'not an object', row(4)] };
}

const failedPage: SinkClause = {
  name: 'failed-page',
  title: 'leaves of a page that failed what its atomicity permits',
  async check(subject) {
    const { to, config, before, page } = await failingPage(subject);
    const sink = await subject.open(config);
    try {
      const failure = await writeThrough(sink, page);
      // A sink that stores any value has no such page.
      if (failure === undefined) return;
    } finally {
      await sink.close();
    }
    const left = await leftOf(to, before);
    const allowed: Record<string, readonly JsonObject[]> = {
      atomic: [],
      per_row: [row(3), row(4)],
      best_effort: [row(3), row(4)],
    };
    const { atomicity } = subject.capabilities;
    for (const one of left)
      assert.ok(
        (allowed[atomicity] ?? []).some(
          (other) => other['id'] === one['id'] && other['v'] === one['v'],
        ),
        `a failed page of a sink that is ${atomicity} left ${JSON.stringify(one)}`,
      );
  },
};

async function writeThrough(sink: Sink, page: readonly JsonValue[]): Promise<unknown> {
  return write(sink, page)
    .then(() => sink.flush())
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}

/** Rows that were not there before; all that were there before must be. */
async function leftOf(
  to: Destination,
  before: readonly JsonObject[],
): Promise<readonly JsonObject[]> {
  const now = (await to.rows()) ?? [];
  const isBefore = (one: JsonObject): boolean =>
    before.some((other) => other['id'] === one['id'] && other['v'] === one['v']);
  assert.equal(now.filter(isBefore).length, before.length, 'a failed page changed earlier rows');
  return now.filter((one) => !isBefore(one));
}

const perRow: SinkClause = {
  name: 'per-row',
  title: 'rejects the very records that are at fault, and writes the others',
  inapplicable: ({ capabilities }) => (capabilities.perRow ? undefined : 'rejects whole pages'),
  async check(subject) {
    const to = await subject.fresh();
    const { config, bad } = faultyRecords(subject, to.config);
    await subject.using(config, async (sink) => {
      const first = await write(sink, [row(1), row(2), row(3)], true);
      assert.deepEqual([first.written, first.rejected.length], [3, 0]);
      const second = await write(sink, [row(4), bad, row(5), bad, row(6)], true);
      const indexes = second.rejected.map((rejection) => rejection.index);
      assert.deepEqual(indexes, [1, 3], 'other records are reported than those at fault');
      assert.equal(second.written, 3, 'the count of a page with rejected records');
      for (const { error } of second.rejected) assert.ok(error.message.length > 5);
      await sink.flush();
      await sink.finish('success');
    });
    const expected = [1, 2, 3, 4, 5, 6].map((id) => row(id));
    await subject.expectRows(to, expected, 'after a page with rejected records');
  },
};

const noRejects: SinkClause = {
  name: 'no-rejects',
  title: 'fails the page for a bad record when nobody takes rejected ones',
  inapplicable: perRow.inapplicable ?? (() => undefined),
  async check(subject) {
    const to = await subject.fresh();
    const { config, bad } = faultyRecords(subject, to.config);
    await subject.run(config, [[row(1)]]);
    await subject.using(config, async (sink) => {
      await connectorFailureOf(write(sink, [row(2), bad]), 'a page with a bad record');
    });
    if (subject.capabilitiesOf(config).atomicity !== 'atomic') return;
    await subject.expectRows(to, [row(1)], 'after the page failed');
  },
};

/** Records that the sink can refuse one by one. */
function faultyRecords(
  subject: SinkSubject,
  config: JsonObject,
): { readonly config: JsonObject; readonly bad: JsonObject } {
  if (subject.offers('upsert')) return { config: subject.keyed(config), bad: { v: 'no key' } };
  const { refused } = subject.fixture;
  if (refused !== undefined) return { config, bad: refused };
  return assert.fail('the sink claims `perRow`: add a record that it refuses as `refused`');
}

const closed: SinkClause = {
  name: 'close',
  title: 'can be closed twice, and takes nothing after that',
  async check(subject) {
    const to = await subject.fresh();
    const sink = await subject.open(to.config);
    await write(sink, [row(1), row(2)]);
    await sink.flush();
    await sink.finish('success');
    await sink.close();
    await sink.close();
    await failureOf(write(sink, [row(3)]), 'a write after the close');
    await sink.close();
    await subject.expectRows(to, [row(1), row(2)], 'after a write to a closed sink');
  },
};

export const WRITING: readonly SinkClause[] = [
  order,
  empty,
  counts,
  lanes,
  failedPage,
  perRow,
  noRejects,
  closed,
];
