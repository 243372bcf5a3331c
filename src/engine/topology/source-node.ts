/** A source node: reads pages from the common start position and passes them to its edge. */
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { Page, RECORDS_LANE, type MadeOf } from '../../kit/page.ts';
import { indexAsRead } from '../../kit/rejected-record.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedSource } from '../../plan/plan.ts';
import { wrapConnectorError, connectorErrorOf } from '../failure.ts';
import { logRejected, unreadOf } from '../dlq/unread-records.ts';
import * as metrics from '../metrics.ts';
import type { ShapeSampler } from '../observe/samples.ts';
import { tellHalfCharacters } from '../row/half-characters.ts';
import { openSource, PAGE_BYTES, resolve } from '../row/parts.ts';
import { withinGracePeriod, abortable } from '../grace-period.ts';
import { readAhead } from '../row/read-ahead.ts';
import { handOn, isEmpty, nodeContext, type NodeWork } from './graph-run.ts';

/** What the graph does with a source after the sinks have ended. */
export interface ReadSource {
  /** The source stays open until then, because sinks may still acknowledge. */
  acknowledge(bookmark: JsonValue): Promise<void>;
  /** Where the source stood after its last page. */
  last(): JsonValue | undefined;
}

export async function openSourceNode(part: PlannedSource, { run, account, labels }: NodeWork) {
  const { options, tokens, stop, closers } = run;
  const leave = new AbortController();
  const [anyRow] = options.plan.rows;
  const retry = anyRow === undefined ? undefined : blockOf(anyRow, resilienceBlock)?.retry;
  const context = {
    ...nodeContext(run, account.node.id),
    signal: AbortSignal.any([stop, leave.signal]),
    pageBytes: PAGE_BYTES,
    records: tokens.records,
    ...(retry === undefined ? {} : { retry }),
  };
  const config = resolve({ tokens, concurrency: options.concurrency }, part);
  const source = await openSource(
    part,
    () => part.definition.open(config, context),
    options,
    closers,
  );
  const connector = { ...labels, connector: part.type };
  options.env.metrics.inc(metrics.sourceInFlight, connector);
  closers.defer(() => options.env.metrics.inc(metrics.sourceInFlight, connector, -1));
  return { source, leave, connector };
}

export interface SourceOnlookers {
  readonly onOpen: (read: ReadSource) => void;
  /** Present when an observer asks for the shape of records. */
  readonly sampler: ShapeSampler | undefined;
}

/** Ends when the source ends, no consumer is left, or the run is stopped. */
export async function readSource(
  part: PlannedSource,
  work: NodeWork,
  { onOpen, sampler }: SourceOnlookers,
): Promise<void> {
  const { run, account } = work;
  const { env } = run.options;
  const { source, leave, connector } = await openSourceNode(part, work);
  let last: JsonValue | undefined;
  onOpen({
    acknowledge: (bookmark) => source.acknowledge?.(bookmark) ?? Promise.resolve(),
    last: () => last,
  });
  const bookmark = await run.positions.start;
  const exact = run.options.plan.rows.some((row) => row.delivery === 'exactly_once');
  const request = {
    lane: RECORDS_LANE,
    ...(bookmark === undefined ? {} : { bookmark }),
    ...(exact ? { exact } : {}),
    ...(work.queue === undefined ? {} : { rejects: true }),
  };
  const waited = (ms: number): void =>
    env.metrics.observe(metrics.sourcePageDuration, connector, ms / 1000);
  const given = tellHalfCharacters(source.pages(request), part.definition, env.log);
  const pages = readAhead(given, waited, () => env.clock.elapsedMs())[Symbol.asyncIterator]();
  let number = 0;
  try {
    while (!run.stop.aborted) {
      const page = await nextPage(pages, part, work);
      if (page === undefined || run.stop.aborted) return;
      const rejected = page.rejected.length;
      const before = account.in;
      account.in += page.count + rejected;
      number += 1;
      account.bytes += page.bytes;
      env.metrics.inc(metrics.sourcePages, connector);
      env.metrics.inc(metrics.sourceRecords, connector, page.count + rejected);
      last = page.bookmark ?? last;
      sampler?.take(page);
      if (rejected > 0 && account.deadLettered === 0)
        logRejected(page, { env, row: { id: account.node.id } });
      await work.queue?.put(unreadOf(page, { before, page: number }));
      const passed = forward(page, work, before);
      if (passed.bookmark !== undefined && source.acknowledge !== undefined)
        run.acknowledgements.handedOut(passed.bookmark);
      if (!isEmpty(passed) && !(await handOn(work, passed))) return;
    }
  } finally {
    leave.abort();
    await withinGracePeriod(pages.return(undefined), env.clock);
  }
}

/**
 * A bookmark is passed on only where it may be stored: there is one source, and it covers all
 * records before it.
 */
function forward(page: Page, { run, queue }: NodeWork, before: number): Page {
  const records = page.records();
  page.release();
  const bookmark = run.topology.startsOver === undefined ? page.bookmark : undefined;
  return Page.ofRecords(records, {
    bytes: page.bytes,
    schema: page.schema,
    ...(queue === undefined ? {} : { madeOf: numberFrom(page.rejected, before) }),
    ...(bookmark === undefined ? {} : { bookmark }),
  });
}

function numberFrom(rejected: Page['rejected'], before: number): MadeOf {
  return (place) => ({ number: before + indexAsRead(rejected, place) + 1 });
}

async function nextPage(
  pages: AsyncGenerator<Page>,
  part: PlannedSource,
  { run, labels }: NodeWork,
): Promise<Page | undefined> {
  const { env } = run.options;
  try {
    const next = await abortable(pages.next(), run.stop, env.clock);
    if (next === undefined)
      env.log.warn('the source did not stop in time and is abandoned', { node: labels.row });
    return next === undefined || next.value.done === true ? undefined : next.value.value;
  } catch (error) {
    if (run.stop.aborted) return undefined;
    const kind = connectorErrorOf(error)?.kind ?? 'unknown';
    env.metrics.inc(metrics.sourceErrors, { ...labels, connector: part.type, kind });
    throw wrapConnectorError('Source', part.type, error);
  }
}
