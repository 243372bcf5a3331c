/** One invocation from open to close, and its outcome. */
import { messageOf, StopReason } from '../../lib/errors.ts';
import type { FinishReason, Sink } from '../../kit/sink.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import { resolvePart } from '../../plan/resolve.ts';
import type { InvocationOutcome, SlaViolation } from '../../wire/outcome.ts';
import { cleanUp } from '../after-run/clean-up.ts';
import { reconcile } from '../after-run/reconcile.ts';
import { judgeSla } from '../after-run/sla.ts';
import { wrapConnectorError, outcomeErrorOf } from '../failure.ts';
import { invocationName, isWholeIteration, stateKeyOf } from '../expand/iteration.ts';
import type { Invocation } from './invocation.ts';
import * as metrics from '../metrics.ts';
import { flushAll, saveBookmark } from '../delivery/checkpoint.ts';
import { movePages, type SourcePosition } from './move-pages.ts';
import { canonicalUri } from '../observe/canonical-uri.ts';
import { datasetOf } from '../observe/datasets.ts';
import type { ObservedRow } from '../observe/observer.ts';
import type { Observers } from '../observe/observers.ts';
import { RowSampler, type ShapeSampler } from '../observe/samples.ts';
import {
  finishInterruptedRollback,
  openRollbackLog,
  type RollbackLog,
} from '../rollback/rollback-log.ts';
import { startPosition, type Start } from './start-position.ts';
import { openInvocation, PAGE_BYTES, partContext, resolve, type OpenOptions } from './open.ts';
import { Tally } from './tally.ts';

export interface RunRowOptions extends Omit<OpenOptions, 'sampler'> {
  readonly limit: number | undefined;
  readonly observers: Observers | undefined;
  /** What the source nodes of a graph read. */
  readonly sampledSources?: ReadonlyMap<string, ShapeSampler>;
  onPage(tally: Tally): void;
  /** Takes the files that the sink has opened since the last time. */
  onFiles?(files: readonly WrittenFile[]): void;
  /** Asked where to go on when others read from the same source. */
  agree?(own: Start): Promise<Start>;
  /** Looks at what was written once everything is closed; a failure of it is one of the row. */
  readonly inspect?: () => Promise<void>;
}

/** Made once: making an error costs more than a small row has time for. */
const ROW_ENDED = new StopReason('cancel', 'the row has ended');
const NO_MORE_PAGES = new StopReason('cancel', 'no more pages are wanted');

/** Never throws: whatever happens is in the outcome. */
export async function runInvocation(options: RunRowOptions): Promise<InvocationOutcome> {
  const { env, row, iteration, tokens, invocationId, observers, sampledSources: sources } = options;
  const observed: ObservedRow = {
    invocationId,
    name: invocationName(row, iteration),
    row,
    tokens,
    startedAt: env.clock.now(),
  };
  if (observers === undefined) return invoke({ ...options, sampler: undefined }, observed);
  const records = observers.sampleRecords;
  const sampler =
    records === 0
      ? undefined
      : new RowSampler({ row, records, ...(sources === undefined ? {} : { sources }) });
  const ended = new AbortController();
  observers.tell((observer) => observer.rowStarted?.(observed));
  const beating = observers.keepTelling(observed, { clock: env.clock, signal: ended.signal });
  const onFiles = (files: readonly WrittenFile[]): void =>
    observers.tell((observer) =>
      observer.filesOpened?.(observed, { dataset_uri: sinkUriOf(options), files }),
    );
  const outcome = await invoke({ ...options, sampler, onFiles }, observed);
  ended.abort(ROW_ENDED);
  await beating;
  const shapes = sampler?.shapes();
  observers.tell((observer) => observer.rowEnded?.(observed, outcome, shapes));
  return outcome;
}

type InvokeOptions = RunRowOptions & Pick<OpenOptions, 'sampler'>;

async function invoke(
  options: InvokeOptions,
  { startedAt, name }: ObservedRow,
): Promise<InvocationOutcome> {
  const { env, row, plan } = options;
  const labels = { pipeline: plan.name, row: row.id };
  const log = env.log.at('headgate::engine');
  const from = env.clock.elapsedMs();
  env.metrics.inc(metrics.pipelineInFlight, labels);
  env.metrics.set(metrics.pipelineStart, labels, startedAt.getTime() / 1000);
  log.info('row started', {
    row: row.id,
    source: row.source.type,
    sink: row.sink.type,
    lane: laneName(options),
    key: options.iteration.key ?? undefined,
    chunk: options.iteration.chunk,
    shard: options.iteration.shard?.id,
  });
  const result = await inspected(options, await attempt(options));
  const durationMs = Math.round(env.clock.elapsedMs() - from);
  const error = result.failure === undefined ? null : outcomeErrorOf(result.failure, env.redactor);
  const status = error !== null ? 'failed' : result.cancelled ? 'cancelled' : 'completed';
  if (error?.kind === 'Panic' && result.failure instanceof Error)
    log.error('unexpected failure', { row: row.id, stack: result.failure.stack });
  env.metrics.inc(metrics.pipelineInFlight, labels, -1);
  env.metrics.inc(metrics.pipelineRuns, {
    ...labels,
    status: error === null ? 'ok' : 'err',
    kind: error?.kind ?? '',
  });
  env.metrics.observe(metrics.pipelineDuration, labels, durationMs / 1000);
  const balance = result.tally.balance();
  const violations = result.cancelled ? [] : await judge(options, result);
  const counts = {
    read: balance.read,
    written: balance.written,
    filtered: balance.filtered,
    dead_lettered: balance.dead_lettered,
    duration_ms: durationMs,
  };
  if (error === null) log.info(`row ${status}`, { row: row.id, ...counts });
  else log.error('row failed', { row: row.id, ...counts, error: error.message });
  return {
    invocation_id: options.invocationId,
    row_id: name,
    parent_record_key: options.iteration.key,
    source: row.source.type,
    sink: row.sink.type,
    status,
    balance,
    bytes_read: result.tally.bytes,
    pages: result.tally.pages,
    lane: laneName(options),
    error,
    started_at: startedAt.toISOString(),
    finished_at: env.clock.now().toISOString(),
    duration_ms: durationMs,
    ...(result.stored === undefined ? {} : { bookmark: result.stored }),
    ...(result.outputs.length === 0
      ? {}
      : { outputs: { dataset_uri: sinkUriOf(options), files: result.outputs } }),
    ...(violations.length === 0 ? {} : { sla_violations: violations }),
  };
}

function sinkUriOf({ env, plan, row, tokens }: RunRowOptions): string {
  return canonicalUri(datasetOf(row.id, row.sink, { plan, tokens, env }), tokens) ?? '';
}

/**
 * Whether the invocation did all a run does, so that its outcome can be held against what is
 * expected of it.
 */
function isWhole({ row, dryRun, limit }: RunRowOptions): boolean {
  return row.role !== 'child' && row.shard === undefined && !dryRun && limit === undefined;
}

/** Whether what it wrote is all that the row writes. */
function isOnlyOne({ row, iteration }: RunRowOptions): boolean {
  return row.role === 'root' && isWholeIteration(iteration);
}

async function judge(
  options: RunRowOptions,
  { tally, failure }: Attempt,
): Promise<readonly SlaViolation[]> {
  const { env, plan, row } = options;
  if (row.sla === undefined || !isWhole(options)) return [];
  const open = async (): Promise<StateStore | undefined> =>
    row.state === undefined
      ? undefined
      : row.state.definition.open(resolvePart(row.state, options.tokens), partContext(options));
  const outcome = {
    succeeded: failure === undefined,
    written: tally.written,
    stateKey: stateKeyOf(row, options.iteration),
  };
  return judgeSla(
    { env, labels: { pipeline: plan.name, row: row.id }, sla: row.sla, ...outcome },
    open,
  );
}

function laneName({ row }: RunRowOptions): string {
  const { lane } = row.lane;
  return lane.form === 'bytes' ? `bytes:${lane.encoding}` : lane.form;
}

interface Attempt {
  readonly tally: Tally;
  readonly stored: JsonValue | undefined;
  readonly outputs: readonly WrittenFile[];
  readonly failure: unknown;
  readonly cancelled: boolean;
}

async function attempt(options: InvokeOptions): Promise<Attempt> {
  const { env } = options;
  // Ends the source's pending read when the loop leaves for any other reason than a stop from
  // outside.
  const leave = new AbortController();
  const stop = AbortSignal.any([options.stop, options.kill]);
  const closers = new AsyncDisposableStack();
  let invocation: Invocation | undefined;
  let stored: JsonValue | undefined;
  let failure: unknown;
  let outputs: readonly WrittenFile[] = [];
  try {
    invocation = await openInvocation(
      { ...options, stop: AbortSignal.any([stop, leave.signal]) },
      closers,
    );
    stored = await moveAndFinish({ ...invocation, stop }, options, leave);
  } catch (error) {
    failure = options.kill.aborted ? options.kill.reason : error;
  } finally {
    outputs = invocation?.sink.outputs?.() ?? [];
    leave.abort(ROW_ENDED);
    await closers
      .disposeAsync()
      .catch((error: unknown) =>
        env.log.warn('closing failed', { row: options.row.id, error: messageOf(error) }),
      );
  }
  const tally = invocation?.tally ?? new Tally();
  const cancelled = failure === undefined && stop.aborted;
  return { tally, stored, outputs, failure, cancelled };
}

/** Only what is whole and all there is can be held against the source. */
async function inspected(options: RunRowOptions, result: Attempt): Promise<Attempt> {
  const { inspect, stop, kill } = options;
  if (inspect === undefined || result.failure !== undefined || result.cancelled) return result;
  if (!isWhole(options) || !isOnlyOne(options)) return result;
  try {
    await inspect();
    return result;
  } catch (error) {
    if (kill.aborted) return { ...result, failure: kill.reason };
    return stop.aborted ? { ...result, cancelled: true } : { ...result, failure: error };
  }
}

/** Moves what there is; everything is flushed, ended and remembered in its order. */
export async function moveAndFinish(
  opened: Invocation,
  options: RunRowOptions,
  leave: AbortController,
): Promise<JsonValue | undefined> {
  opened.hitFailpoint?.('opened');
  const saveBookmarks = !options.dryRun && options.limit === undefined;
  if (saveBookmarks) await finishInterruptedRollback(opened);
  const own = await startPosition(opened, saveBookmarks);
  const { watermark, bookmark } = (await options.agree?.(own)) ?? own;
  const invocation = { ...opened, watermark };
  const sinkUri = (): string =>
    options.row.sink.definition.datasetUri(resolve(options, options.row.sink));
  const kept = saveBookmarks
    ? await openRollbackLog(invocation, { now: options.tokens.now, sinkUri })
    : undefined;
  try {
    return await moveFrom(bookmark, invocation, { ...options, saveBookmarks, leave, kept });
  } finally {
    await kept?.end();
  }
}

interface MoveFromOptions extends RunRowOptions {
  readonly saveBookmarks: boolean;
  readonly leave: AbortController;
  readonly kept: RollbackLog | undefined;
}

async function moveFrom(
  bookmark: JsonValue | undefined,
  invocation: Invocation,
  options: MoveFromOptions,
): Promise<JsonValue | undefined> {
  const { saveBookmarks, leave, kept } = options;
  const tellFiles = fileTeller(invocation.sink, options);
  let position: SourcePosition | undefined;
  try {
    position = await movePages(invocation, {
      bookmark,
      limit: options.limit,
      saveBookmarks,
      leave: () => leave.abort(NO_MORE_PAGES),
      onPage: () => {
        options.onPage(invocation.tally);
        tellFiles();
      },
    });
    await flushAll(invocation);
    // Held pages whose commit never came are read again by the next run.
    invocation.tally.withheld += invocation.watermark?.held ?? 0;
    const cancelled = invocation.stop.aborted;
    if (!cancelled) invocation.tally.assertClosed();
    await finish(invocation, cancelled ? 'cancelled' : 'success');
    if (!cancelled) kept?.finished();
    if (!cancelled && options.limit === undefined)
      await cleanUp(invocation, options.tokens, bookmark === undefined);
  } catch (error) {
    await salvage(invocation, messageOf(error));
    throw error;
  }
  const { waiting } = position;
  const saved =
    waiting !== undefined && !invocation.stop.aborted && (await saveBookmark(invocation, waiting));
  const { reconcile: authority } = options.row;
  if (
    authority !== undefined &&
    isOnlyOne(options) &&
    isWhole(options) &&
    !invocation.stop.aborted
  ) {
    const context = { ...partContext(options), signal: invocation.stop, pageBytes: PAGE_BYTES };
    await reconcile(authority, invocation.tally.written, context, options.tokens);
  }
  return saved ? waiting : position.stored;
}

function fileTeller(sink: Sink, options: RunRowOptions): () => void {
  let told = 0;
  return () => {
    const files = sink.outputs?.() ?? [];
    if (files.length > told) options.onFiles?.(files.slice(told));
    told = files.length;
  };
}

async function finish(invocation: Invocation, reason: FinishReason): Promise<void> {
  invocation.hitFailpoint?.('before_finish');
  try {
    await invocation.sink.finish(reason);
    invocation.hitFailpoint?.('after_finish');
  } catch (error) {
    throw wrapConnectorError('Sink', invocation.row.sink.type, error);
  } finally {
    await invocation.deadLetters?.finish(reason);
  }
}

/**
 * After a failure: what was written stays readable, everything is told how it ended, and a second
 * failure does not hide the first.
 */
async function salvage(invocation: Invocation, failure: string): Promise<void> {
  for (const step of [() => flushAll(invocation), () => finish(invocation, 'failed')]) {
    try {
      await step();
    } catch (error) {
      const again = messageOf(error);
      // A sink that writes behind tells what stopped it once more; once is enough.
      if (again !== failure)
        invocation.env.log.warn('cleaning up after the failure failed too', {
          row: invocation.row.id,
          error: again,
        });
    }
  }
}
