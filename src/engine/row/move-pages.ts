/**
 * The page loop: read → transform → govern → write → dead letters → flush → bookmark → acknowledge.
 */
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { RunError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { laneName, type Page } from '../../kit/page.ts';
import { logRejected, unreadOf } from '../dlq/unread-records.ts';
import { CircuitBreaker } from '../delivery/circuit-breaker.ts';
import { flushAll, saveBookmark } from '../delivery/checkpoint.ts';
import { PageWriter } from '../delivery/write-page.ts';
import { wrapConnectorError, connectorErrorOf } from '../failure.ts';
import { FieldWatch } from './field-watch.ts';
import type { Invocation } from './invocation.ts';
import * as metrics from '../metrics.ts';
import { withRecord } from './record-failure.ts';
import { withinGracePeriod, abortable } from '../grace-period.ts';
import { tellHalfCharacters } from './half-characters.ts';
import { readAhead } from './read-ahead.ts';
import { flushingWhenIdle, observeLag, startHeartbeats, type Heartbeats } from './unbounded.ts';
import type { WorkedPage } from '../stages/page-work.ts';
import { describeDeadRecords as describe } from './dead-records.ts';
import type { DeadRecord } from '../stages/stage.ts';
import { countUnknownFields } from '../delivery/unknown-fields.ts';
import { orderedPrefetch } from '../threads/ordered-prefetch.ts';

/** The bookmarks of an invocation after its last page. */
export interface SourcePosition {
  /** The last bookmark stored. */
  readonly stored: JsonValue | undefined;
  /** A bookmark that may be stored only once `finish` has made the output durable. */
  readonly waiting: JsonValue | undefined;
}

/**
 * Moves pages until the source ends, the stop signal fires (at a page boundary) or the limit is
 * reached.
 */
export async function movePages(
  invocation: Invocation,
  bookmark: JsonValue | undefined,
  onPage: () => void,
): Promise<SourcePosition> {
  const { env, row, source, stop, pool, sampler, limit, unbounded } = invocation;
  const labels = { ...invocation.labels, connector: row.source.type };
  const request = {
    lane: row.lane.lane,
    ...(bookmark === undefined ? {} : { bookmark }),
    ...(limit === undefined ? {} : { limit }),
    ...(invocation.watermark === undefined ? {} : { exact: true }),
    ...(invocation.deadLetters === undefined ? {} : { rejects: true }),
  };
  const mover = new PageMover(invocation);
  const fields = new FieldWatch(row);
  const waited = (ms: number): void =>
    env.metrics.observe(metrics.sourcePageDuration, labels, ms / 1000);
  const given = tellHalfCharacters(source.pages(request), row.source.definition, env.log);
  const pages = readAhead(given, waited, () => env.clock.elapsedMs())[Symbol.asyncIterator]();
  const next = async (): Promise<Page | undefined> => {
    const page = await nextPage(pages, invocation).catch(async (error: unknown) => {
      // It may have ended because a bookmark could not be stored.
      await mover.settle();
      throw error;
    });
    if (page !== undefined) {
      noteLane(page, invocation);
      sampler?.read(page);
      fields.see(page);
    }
    return page;
  };
  const fetched = orderedPrefetch(next, pool);
  const flush = (): Promise<void> => mover.flushIdle();
  const moving =
    unbounded === undefined
      ? fetched
      : flushingWhenIdle(fetched, { ...unbounded, clock: env.clock, flush });
  const heartbeats = startHeartbeats(invocation);
  try {
    for await (const { page, worked } of moving) {
      if (stop.aborted) break;
      env.metrics.inc(metrics.sourcePages, labels);
      env.metrics.inc(metrics.sourceRecords, labels, page.count + page.rejected.length);
      await mover.move(page, worked);
      worked.page.release();
      page.release();
      onPage();
      if (unbounded !== undefined) observeLag(invocation);
      if (stop.aborted || mover.done) break;
    }
    await mover.settle();
    await stopped(heartbeats, invocation);
    if (!stop.aborted) fields.report(env.log, row.id);
  } finally {
    await withinGracePeriod(heartbeats.stop(), env.clock).catch(() => {});
    await mover.rest();
    invocation.leave();
    await withinGracePeriod(pages.return(undefined), env.clock);
  }
  return { stored: mover.stored, waiting: mover.waiting };
}

/** The plan does not know the data: a value or a type may need another lane. */
function noteLane(page: Page, { tally, row, env }: Invocation): void {
  const lane = laneName(page.form);
  if (page.count === 0 || tally.lanes.has(lane)) return;
  tally.lanes.add(lane);
  const planned = laneName(row.lane.lane);
  if (lane !== planned)
    env.log.at('headgate::engine').info('pages come in another lane than planned', {
      row: row.id,
      lane,
      planned,
    });
}

/** A failed heartbeat has ended the reading; its error is thrown here. */
async function stopped(heartbeats: Heartbeats, { row, env }: Invocation): Promise<void> {
  await withinGracePeriod(heartbeats.stop(), env.clock).catch((error: unknown) => {
    throw wrapConnectorError('Source', row.source.type, error);
  });
}

async function nextPage(
  pages: AsyncGenerator<Page>,
  invocation: Invocation,
): Promise<Page | undefined> {
  try {
    const next = await abortable(pages.next(), invocation.stop, invocation.env.clock);
    if (next === undefined)
      invocation.env.log.warn('the source did not stop in time and is abandoned', {
        row: invocation.row.id,
      });
    return next === undefined || next.value.done === true ? undefined : next.value.value;
  } catch (error) {
    if (invocation.stop.aborted) return undefined;
    const kind = connectorErrorOf(error)?.kind ?? 'unknown';
    invocation.env.metrics.inc(metrics.sourceErrors, {
      ...invocation.labels,
      connector: invocation.row.source.type,
      kind,
    });
    throw wrapConnectorError('Source', invocation.row.source.type, error);
  }
}

/**
 * Moves single pages, and keeps what must outlive a page: the bookmark that waits for a durable
 * flush.
 */
class PageMover {
  stored: JsonValue | undefined;
  waiting: JsonValue | undefined;
  readonly #invocation: Invocation;
  readonly #writer: PageWriter;
  readonly #breaker: CircuitBreaker | undefined;
  /** The bookmark that is being stored while the next pages are moved. */
  #saving: Promise<void> = Promise.resolve();
  /** Whether records were written since the last flush. */
  #unflushed = false;
  /** Whether the source has rejected a record. */
  #hasRejected = false;

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
    this.#writer = new PageWriter(invocation, invocation.limit);
    const breaker = blockOf(invocation.row, resilienceBlock)?.breaker;
    this.#breaker =
      breaker === undefined || invocation.deadLetters === undefined
        ? undefined
        : new CircuitBreaker(breaker, invocation);
  }

  /** True once the limit is reached. */
  get done(): boolean {
    const { limit, tally } = this.#invocation;
    return limit !== undefined && tally.written >= limit;
  }

  /** Resolves when the last bookmark is stored and acknowledged; rejects when that failed. */
  settle(): Promise<void> {
    return this.#saving;
  }

  /** Resolves when no bookmark is being stored any more, stored or not. */
  async rest(): Promise<void> {
    await this.#saving.catch(() => {});
  }

  async move(page: Page, worked: WorkedPage): Promise<void> {
    const { tally, deadLetters, sampler, capture } = this.#invocation;
    const rejected = page.rejected.length;
    const before = tally.read;
    tally.read += page.count + rejected;
    tally.bytes += page.bytes;
    tally.pages += 1;
    worked.measure?.();
    const readAt = this.#invocation.env.clock.now();
    const unread = unreadOf(page, { before, page: tally.pages });
    if (rejected > 0 && !this.#hasRejected) logRejected(page, this.#invocation);
    this.#hasRejected ||= rejected > 0;
    const dead = [...worked.dead];
    tally.filtered += worked.filtered;
    tally.expanded += worked.expanded;
    tally.transformed += worked.transformed + rejected;
    tally.breaches += worked.breaches ?? 0;
    if (worked.droppedFields !== undefined) countUnknownFields(tally, worked.droppedFields);
    if (worked.failure !== undefined) {
      const failure = this.#withRecord(worked.failure, page, worked);
      return this.#giveUp(failure, [...unread, ...describe(dead, { read: page, worked, before })]);
    }
    sampler?.written(worked.page);
    capture?.take(worked.page.records());
    const isNothing = worked.page.count === 0 && dead.length === 0 && rejected === 0;
    if (isNothing && page.bookmark === undefined) return;
    const fate = await this.#writer.write(worked.page, { readAt, dead }).catch((error: unknown) => {
      throw this.#withRecord(error, page, worked);
    });
    this.#unflushed = true;
    await this.#divert([...unread, ...describe(dead, { read: page, worked, before })]);
    if (page.bookmark !== undefined) await this.#checkpoint(page.bookmark);
    const ending = deadLetters?.budgetError(dead.length + rejected) ?? this.#breaker?.note(fate);
    if (ending !== undefined) throw ending;
  }

  /**
   * Makes durable what waits for a bookmark while nothing comes. Positions stay where they are; a
   * sink that commits them itself waits for the bookmark.
   */
  async flushIdle(): Promise<void> {
    if (!this.#unflushed || this.#invocation.watermark !== undefined) return;
    await this.settle();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    await flushAll(this.#invocation);
    this.#unflushed = false;
  }

  #withRecord(failure: unknown, page: Page, worked: WorkedPage): unknown {
    const { tally, row } = this.#invocation;
    const { filtered, expanded, dead } = worked;
    return withRecord(failure, row, {
      before: tally.read - page.count - page.rejected.length,
      rejected: page.rejected,
      page: tally.pages,
      isWhole: filtered === 0 && expanded === 0 && dead.length === 0,
    });
  }

  /** Dead letters of earlier stages are written even when schema drift then ends the run. */
  async #giveUp(failure: unknown, dead: readonly DeadRecord[]): Promise<never> {
    if (failure instanceof RunError && failure.kind === 'SchemaDrift') await this.#divert(dead);
    throw failure;
  }

  async #divert(dead: readonly DeadRecord[]): Promise<void> {
    const { tally, deadLetters } = this.#invocation;
    if (deadLetters === undefined) return;
    await deadLetters.write(dead);
    tally.deadLettered += dead.length;
  }

  /**
   * Flush everything, then remember the position, then tell upstream: never in another order. The
   * next page is moved meanwhile, but nothing more is flushed before the position is remembered.
   */
  async #checkpoint(bookmark: JsonValue): Promise<void> {
    await this.settle();
    await this.#flush();
    if (!this.#invocation.storesPositions) return;
    if (!this.#invocation.flushDurable) {
      this.waiting = bookmark;
      return;
    }
    this.#saving = this.#save(bookmark);
    // A failure surfaces at the next checkpoint or at the end; a source that waits for records must
    // not delay that.
    this.#saving.catch(() => this.#invocation.leave());
    const { hitFailpoint, watermark } = this.#invocation;
    // A sink that commits positions itself is at most one ahead. With failpoints the order of steps
    // must be the same in each run.
    if (watermark !== undefined || hitFailpoint !== undefined) await this.settle();
  }

  async #save(bookmark: JsonValue): Promise<void> {
    if (await saveBookmark(this.#invocation, bookmark)) this.stored = bookmark;
  }
}
