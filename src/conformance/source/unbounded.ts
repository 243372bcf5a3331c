/** Clauses about sources that wait for records instead of ending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import type { Source, Unbounded } from '../../kit/source.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { SourceClause } from './clause.ts';
import { assertSame, assertThat } from './difference.ts';
import type { Upstream } from '../../kit/source-fixture.ts';
import { settled, STOP_MS, within, type SourceSubject } from './subject.ts';

/** What a busy machine may add to a promised time. */
const GRACE_MS = 500;

/** A reader of an upstream of its own. */
interface Reader extends AsyncDisposable {
  readonly source: Source;
  readonly send: (records: readonly JsonValue[]) => Promise<void>;
  /** The next pages, until they hold so many records. */
  take(count: number, what: string): Promise<Page[]>;
  acknowledged(): Promise<number>;
}

interface Started {
  readonly config: JsonObject;
  readonly bookmark?: JsonValue | undefined;
  readonly batchSize?: number;
}

async function startReading(
  subject: SourceSubject,
  { config, bookmark, batchSize }: Started,
): Promise<Reader> {
  const stop = new AbortController();
  const upstream = upstreamOf(subject);
  const { idleFlushMs } = unboundedOf(subject);
  const source = await subject.open({ config, signal: stop.signal, batchSize });
  const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
  const pages = source.pages(request)[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<Page>> | undefined;
  return {
    source,
    send: (records) => upstream.send(config, records),
    async take(count, what) {
      const taken: Page[] = [];
      for (let read = 0; read < count; read += taken.at(-1)?.count ?? 0) {
        pending ??= pages.next();
        const next = await within(idleFlushMs + GRACE_MS, pending, what);
        pending = undefined;
        assertThat(next.done !== true, `${what}: it has ended`);
        taken.push(next.value);
      }
      return taken;
    },
    acknowledged: async () => upstream.acknowledged(config),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the test has seen enough'));
      await within(STOP_MS, settled(pending ?? pages.next()), 'ends while it waits for records');
      await within(STOP_MS, source.close(), 'closes after that');
    },
  };
}

function upstreamOf({ fixture }: SourceSubject): Upstream {
  assertThat(fixture.upstream !== undefined, 'the fixture of an unbounded source has no upstream');
  return fixture.upstream;
}

function unboundedOf({ capabilities: { unbounded } }: SourceSubject): Unbounded {
  assertThat(unbounded !== undefined, 'it is not unbounded');
  return unbounded;
}

function whyBounded({ capabilities }: SourceSubject): string | undefined {
  return capabilities.unbounded === undefined ? 'it ends by itself' : undefined;
}

const waits: SourceClause = {
  name: 'waits',
  title: 'gives what arrives later, in pages that are not full, and waits on',
  inapplicable: whyBounded,
  async check(subject) {
    const records = subject.fixture.records;
    const config = await upstreamOf(subject).fresh();
    await using reader = await startReading(subject, { config });
    const found: JsonValue[] = [];
    for (const [from, to] of [
      [0, 1],
      [1, 3],
      [3, 6],
    ] as const) {
      await reader.send(records.slice(from, to));
      const pages = await reader.take(to - from, `${to - from} records that came are handed on`);
      found.push(...pages.flatMap((page) => [...page.records()]));
    }
    assertSame(found, records.slice(0, 6), 'sent in three parts', { fieldOrder: false });
  },
};

const acknowledge: SourceClause = {
  name: 'acknowledge',
  title: 'tells upstream what is done when it is asked to, never before and never more',
  inapplicable: whyBounded,
  async check(subject) {
    const { records } = subject.fixture;
    const config = await upstreamOf(subject).fresh();
    await using reader = await startReading(subject, { config, batchSize: 3 });
    if (reader.source.acknowledge === undefined) {
      const { redelivery: from } = unboundedOf(subject);
      assertThat(from === 'bookmark', 'upstream delivers again, but nothing can be acknowledged');
      return;
    }
    await reader.send(records);
    const pages = await reader.take(records.length, 'all records come');
    assertThat((await reader.acknowledged()) === 0, 'records count as done before anybody said so');
    for (const [index, position] of marked(pages)) {
      const { bookmark = null } = pages[index] as Page;
      await reader.source.acknowledge?.(bookmark);
      await reader.source.acknowledge?.(bookmark);
      const done = await reader.acknowledged();
      assertThat(done === position, `${done} records count as done after ${position} were`);
    }
  },
};

/** Every other page that has a bookmark, and the last: one bookmark stands for all before it. */
function marked(pages: readonly Page[]): [number, number][] {
  let position = 0;
  const all = pages.flatMap(({ bookmark, count }, index): [number, number][] => {
    position += count;
    return bookmark === undefined ? [] : [[index, position]];
  });
  return all.filter((_, index) => index % 2 === 0 || index === all.length - 1);
}

const redelivery: SourceClause = {
  name: 'redelivery',
  title: 'delivers again what was not acknowledged, and nothing that was',
  inapplicable: (subject) =>
    whyBounded(subject) ??
    (unboundedOf(subject).redelivery === 'bookmark' ? 'bookmarks say where it goes on' : undefined),
  async check(subject) {
    const { records } = subject.fixture;
    const config = await upstreamOf(subject).fresh();
    await upstreamOf(subject).send(config, records);
    for (let done = 0; done < records.length;) {
      await using reader = await startReading(subject, { config, batchSize: 3 });
      const pages = await reader.take(records.length - done, 'what is left comes again');
      const found = pages.flatMap((page) => [...page.records()]);
      const wanted = records.slice(done);
      assertSame(found, wanted, `${done} acknowledged, read again`, { fieldOrder: false });
      const mark = pages.findIndex(({ bookmark }) => bookmark !== undefined);
      assertThat(mark !== -1, 'no page has a bookmark to acknowledge');
      await reader.source.acknowledge?.((pages[mark] as Page).bookmark ?? null);
      done += pages.slice(0, mark + 1).reduce((sum, page) => sum + page.count, 0);
    }
  },
};

const heartbeat: SourceClause = {
  name: 'heartbeat',
  title: 'tells upstream that it is alive, in the middle of a wait too, and moves nothing by it',
  inapplicable: (subject) =>
    whyBounded(subject) ??
    (unboundedOf(subject).heartbeatMs === undefined ? 'it needs no heartbeat' : undefined),
  async check(subject) {
    const { records } = subject.fixture;
    const upstream = upstreamOf(subject);
    const config = await upstream.fresh();
    await using reader = await startReading(subject, { config });
    const beats = async (): Promise<number> => (await upstream.heartbeats?.(config)) ?? 0;
    await reader.send(records.slice(0, 2));
    const first = await reader.take(2, 'two records come');
    const waiting = reader.take(2, 'two more come after the heartbeat');
    waiting.catch(() => {});
    await sleep(20);
    const before = await beats();
    const done = await reader.acknowledged();
    await reader.source.heartbeat?.();
    assertThat((await beats()) === before + 1, 'a heartbeat did not reach the other side');
    assertThat((await reader.acknowledged()) === done, 'a heartbeat acknowledged records');
    await reader.send(records.slice(2, 4));
    const found = [...first, ...(await waiting)].flatMap((page) => [...page.records()]);
    assertSame(found, records.slice(0, 4), 'around a heartbeat', { fieldOrder: false });
  },
};

const lag: SourceClause = {
  name: 'lag',
  title: 'says how far it is behind: everything at first, nothing at the end',
  inapplicable: whyBounded,
  async check(subject) {
    const { records } = subject.fixture;
    const config = await upstreamOf(subject).fresh();
    await upstreamOf(subject).send(config, records);
    await using reader = await startReading(subject, { config, batchSize: 3 });
    if (reader.source.lag === undefined) return;
    let left = records.length;
    while (left > 0) {
      const [page] = await reader.take(1, 'records come');
      left -= page?.count ?? 0;
      const { records: behind, seconds } = reader.source.lag?.() ?? {};
      assertThat(
        behind === undefined || behind === left,
        `it says ${behind} records where ${left} have not come yet`,
      );
      assertThat(
        seconds === undefined || (left === 0 ? seconds === 0 : seconds >= 0),
        `it says ${seconds} seconds with ${left} records to come`,
      );
    }
  },
};

export const UNBOUNDED_CLAUSES: readonly SourceClause[] = [
  waits,
  acknowledge,
  redelivery,
  heartbeat,
  lag,
];
