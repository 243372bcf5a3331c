/** One invocation: open, move, finish, close, and its outcome. */
import { slaBlock } from '../../blocks/sla/index.ts';
import { reconcileBlock } from '../../blocks/reconcile/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { messageOf, StopReason } from '../../lib/errors.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { InvocationOutcome, SlaViolation } from '../../wire/outcome.ts';
import { reconcile } from '../after-run/reconcile.ts';
import { judgeSla, type SlaStore } from '../after-run/sla.ts';
import { fencedHistory } from '../after-run/sla-history.ts';
import { invocationName, stateKeyOf } from '../expand/iteration.ts';
import type { ObservedRow } from '../observe/observer.ts';
import type { Observers } from '../observe/observers.ts';
import { RowSampler, type ShapeSampler } from '../observe/samples.ts';
import type { OpenedInvocation } from './invocation.ts';
import { moveInvocation, type MoveHooks } from './move-invocation.ts';
import { openInvocation } from './open.ts';
import { endOverdue } from './end-overdue.ts';
import { reportEnd, reportStart, sinkUriOf, type Attempt } from './outcome.ts';
import { PAGE_BYTES, partContext, resolve } from './parts.ts';
import { isWholeRow, isWholeRun, type InvocationRequest } from './request.ts';
import { Tally } from './tally.ts';

export interface InvocationHooks extends Omit<MoveHooks, 'onFiles'> {
  readonly observers?: Observers | undefined;
  /** What the source nodes of a graph read. */
  readonly sampledSources?: ReadonlyMap<string, ShapeSampler>;
  /** Compares what was written, once everything is closed; its failure is one of the row. */
  readonly inspect?: () => Promise<void>;
}

/** Made once: an error with its stack costs more than a small row has time for. */
const ROW_ENDED = new StopReason('cancel', 'the row has ended');

/** Never throws: whatever happens is in the outcome. */
export async function runInvocation(
  request: InvocationRequest,
  hooks: InvocationHooks = {},
): Promise<InvocationOutcome> {
  const { env, row, iteration, tokens, invocationId } = request;
  const observed: ObservedRow = {
    invocationId,
    name: invocationName(row, iteration),
    row,
    tokens,
    startedAt: env.clock.now(),
  };
  const { observers } = hooks;
  if (observers === undefined) return invoke(request, observed, hooks);
  const sampler = samplerOf(request, hooks, observers.sampleRecords);
  const ended = new AbortController();
  observers.notify((observer) => observer.rowStarted?.(observed));
  const heartbeat = observers.heartbeat(observed, { clock: env.clock, signal: ended.signal });
  const onFiles = (files: readonly WrittenFile[]): void =>
    observers.notify((observer) =>
      observer.filesOpened?.(observed, { dataset_uri: sinkUriOf(request), files }),
    );
  const outcome = await invoke(request, observed, { ...hooks, onFiles }, sampler);
  ended.abort(ROW_ENDED);
  await heartbeat;
  const shapes = sampler?.shapes();
  observers.notify((observer) => observer.rowEnded?.(observed, outcome, shapes));
  return outcome;
}

function samplerOf(
  { row }: InvocationRequest,
  { sampledSources: sources }: InvocationHooks,
  records: number,
): RowSampler | undefined {
  if (records === 0) return undefined;
  return new RowSampler({ row, records, ...(sources === undefined ? {} : { sources }) });
}

async function invoke(
  request: InvocationRequest,
  observed: ObservedRow,
  hooks: MoveHooks & Pick<InvocationHooks, 'inspect'>,
  sampler?: RowSampler,
): Promise<InvocationOutcome> {
  const { clock } = request.env;
  const from = clock.elapsedMs();
  reportStart(request, observed);
  const attempt = await inspected(request, await attemptOf(request, hooks, sampler), hooks.inspect);
  const durationMs = Math.round(clock.elapsedMs() - from);
  const violations = await slaViolations(request, attempt);
  return reportEnd(request, observed, { ...attempt, durationMs, violations });
}

async function attemptOf(
  request: InvocationRequest,
  hooks: MoveHooks,
  sampler: RowSampler | undefined,
): Promise<Attempt> {
  const { env, row, stop, kill } = request;
  const closers = new AsyncDisposableStack();
  using overdue = endOverdue(request);
  let invocation: OpenedInvocation | undefined;
  let stored: JsonValue | undefined;
  let failure: unknown;
  try {
    const ending = { ...request, kill: AbortSignal.any([kill, overdue.signal]) };
    invocation = await openInvocation(ending, closers, sampler);
    stored = await moveInvocation(invocation, hooks);
    await reconcileRow(request, invocation);
  } catch (error) {
    // A stop that comes while something is opened is no failure either.
    const isStop = overdue.signal.aborted || (stop.aborted && error instanceof StopReason);
    failure = kill.aborted ? kill.reason : isStop ? undefined : error;
  }
  const outputs = invocation?.sink.outputs?.() ?? [];
  await closers
    .disposeAsync()
    .catch((error: unknown) =>
      env.log.warn('closing failed', { row: row.id, error: messageOf(error) }),
    );
  const cancelled = failure === undefined && (stop.aborted || kill.aborted);
  return { tally: invocation?.tally ?? new Tally(), stored, outputs, failure, cancelled };
}

/** Holds what was written against the authority of `reconcile`. */
async function reconcileRow(
  request: InvocationRequest,
  { context, stop, tally }: OpenedInvocation,
): Promise<void> {
  const { row, tokens } = request;
  const authority = blockOf(row, reconcileBlock);
  if (authority === undefined || stop.aborted || !isWholeRow(request)) return;
  const asking = { ...context, signal: stop, pageBytes: PAGE_BYTES };
  await reconcile(authority, tally.written, asking, tokens);
}

async function inspected(
  request: InvocationRequest,
  attempt: Attempt,
  inspect: InvocationHooks['inspect'],
): Promise<Attempt> {
  const { stop, kill } = request;
  const isComplete = attempt.failure === undefined && !attempt.cancelled && isWholeRow(request);
  if (inspect === undefined || !isComplete) return attempt;
  try {
    await inspect();
    return attempt;
  } catch (error) {
    if (kill.aborted) return { ...attempt, failure: kill.reason };
    return stop.aborted ? { ...attempt, cancelled: true } : { ...attempt, failure: error };
  }
}

async function slaViolations(
  request: InvocationRequest,
  { tally, failure, cancelled }: Attempt,
): Promise<readonly SlaViolation[]> {
  const { env, plan, row } = request;
  const sla = blockOf(row, slaBlock);
  if (sla === undefined || cancelled || !isWholeRun(request)) return [];
  const stateKey = stateKeyOf(row, request.iteration);
  const open = async (): Promise<SlaStore | undefined> => {
    const store = await row.state?.definition.open(
      resolve(request, row.state),
      partContext(request),
    );
    return store === undefined ? undefined : fencedHistory(store, request, stateKey);
  };
  const outcome = { succeeded: failure === undefined, written: tally.written, stateKey };
  const labels = { pipeline: plan.name, row: row.id };
  return judgeSla({ env, labels, sla, ...outcome }, open);
}
