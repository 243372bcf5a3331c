/** Opens everything an invocation needs; it is closed in the reverse order. */
import type { Progress, RetryPolicy } from '../../kit/context.ts';
import { governanceOf } from '../stages/governance.ts';
import { rollbackBlock } from '../../blocks/rollback/index.ts';
import { schemaDriftBlock } from '../../blocks/schema-drift/index.ts';
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { StopReason } from '../../lib/errors.ts';
import type { PartContext } from '../../kit/context.ts';
import { replacedOutput, type Sink, type SinkCapabilities } from '../../kit/sink.ts';
import { capabilitiesOf } from '../../kit/source.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { DlqPlan } from '../../blocks/dlq/plan.ts';
import type { PlannedRow, PlannedSink } from '../../plan/plan.ts';
import { SeenKeys } from '../delivery/seen-keys.ts';
import { suppliedColumns } from '../delivery/stamp.ts';
import { DeadLetters } from '../dlq/dead-letters.ts';
import { deadLetterMaskOf } from '../dlq/hide-dead-letter.ts';
import { stateKeyOf } from '../expand/iteration.ts';
import type { HitFailpoint } from '../failpoints.ts';
import * as metrics from '../metrics.ts';
import type { RowSampler } from '../observe/samples.ts';
import {
  pageWork,
  schemaAfterStages,
  type PageWork,
  type PageWorkOptions,
} from '../stages/page-work.ts';
import { assertCanEvolve } from '../stages/schema-drift.ts';
import { stagePlace } from '../stages/stage.ts';
import { stagesOf } from '../stages/stages.ts';
import type { StagePool } from '../threads/ordered-prefetch.ts';
import { setupOf } from '../threads/setup.ts';
import { GrowingStagePool, inlinePool } from '../threads/stage-pool.ts';
import { dryRunSink } from './dry-run-sink.ts';
import type { OpenedInvocation } from './invocation.ts';
import {
  countOpen,
  openPart,
  openSource,
  openTransforms,
  PAGE_BYTES,
  partContext,
  resolve,
} from './parts.ts';
import { storesPositions, type InvocationRequest } from './request.ts';
import { releaseLease, takeLease, type StateLease } from './state-lease.ts';
import { Tally } from './tally.ts';

/** Made once: an error with its stack costs more than a small row has time for. */
const NO_MORE_PAGES = new StopReason('cancel', 'no more pages are wanted');

export async function openInvocation(
  request: InvocationRequest,
  closers: AsyncDisposableStack,
  sampler?: RowSampler,
): Promise<OpenedInvocation> {
  const { row, plan, kill, tokens, iteration } = request;
  const labels = { pipeline: plan.name, row: row.id };
  const context = partContext(request);
  const { env } = context;
  const tally = new Tally();
  const stop = AbortSignal.any([request.stop, kill]);
  const hitFailpoint = failpointsOf(request, tally);
  const transforms = await openTransforms(row.transforms, request, closers);
  const stateKey = stateKeyOf(row, iteration);
  const state = await openState(request, context, closers);
  const input = await openInput(request, { context, stop }, closers);
  const isMoved = input.bookmarks || blockOf(row, rollbackBlock) !== undefined;
  const lease = isMoved ? await openLease(request, { state, stateKey }, closers) : undefined;
  claimOutput(request, tally, closers);
  const start: OpenedInvocation['start'] = {};
  const progress = progressOf(request, { ...input, state });
  const output = await openOutput(request, { context, hitFailpoint, start, progress }, closers);
  const stages = stagesOf({ env, ...stagePlace(plan, row) }, governanceOf(row), {
    schema: output.sink.schema,
    supplied: suppliedColumns(row),
  });
  const tracks = output.deadLetters !== undefined;
  const work = pageWork({ env, labels, transforms, stages, kill, tracks });
  const pool = poolOf(request, { work, transforms, stages }, output.capabilities);
  closers.defer(() => pool.close());
  return {
    env,
    context,
    id: request.invocationId,
    row,
    labels,
    tokens,
    ...input,
    ...output,
    pool,
    state,
    stateKey,
    startKey: startKeyOf(request, stateKey, input),
    lease,
    storesPositions: storesPositions(request),
    fence: request.dryRun === true ? undefined : request.fence,
    start,
    limit: request.limit,
    tally,
    ...(row.cleanUp === undefined || request.dryRun === true
      ? {}
      : { seen: new SeenKeys(output.capabilities.key) }),
    capture: request.capture,
    sampler,
    hitFailpoint,
    stop,
    kill,
  };
}

async function openState(
  request: InvocationRequest,
  context: PartContext,
  closers: AsyncDisposableStack,
): Promise<StateStore | undefined> {
  const { state } = request.row;
  if (state === undefined) return undefined;
  const open = async (): Promise<StateStore> =>
    state.definition.open(resolve(request, state), context);
  return openPart('State', state, open, closers);
}

/** Where the other side remembers what its shares moved, only the row as a whole has a position. */
function startKeyOf(
  { row, iteration }: InvocationRequest,
  stateKey: string,
  { unbounded }: Pick<OpenedInvocation, 'unbounded'>,
): string {
  return iteration.shard !== undefined && unbounded?.redelivery === 'upstream'
    ? row.stateKey
    : stateKey;
}

/** Only runs that store positions need the state for themselves. */
async function openLease(
  request: InvocationRequest,
  { state, stateKey }: Pick<OpenedInvocation, 'state' | 'stateKey'>,
  closers: AsyncDisposableStack,
): Promise<StateLease | undefined> {
  if (state === undefined || !storesPositions(request)) return undefined;
  const lease = await takeLease(request, state, stateKey);
  closers.defer(() => releaseLease(lease, request.env.log.at('headgate::engine')));
  return lease;
}

interface OpenedInput extends Pick<OpenedInvocation, 'source' | 'replay' | 'unbounded' | 'leave'> {
  readonly bookmarks: boolean;
}

/** The source, and `leave`, which signals that no more pages are wanted. */
async function openInput(
  request: InvocationRequest,
  { context, stop }: { readonly context: PartContext; readonly stop: AbortSignal },
  closers: AsyncDisposableStack,
): Promise<OpenedInput> {
  const { row, tokens, iteration } = request;
  const left = new AbortController();
  const leave = (): void => left.abort(NO_MORE_PAGES);
  const config = configOfShard(request, resolve(request, row.source));
  const open = () =>
    row.source.definition.open(config, {
      ...context,
      signal: AbortSignal.any([stop, left.signal]),
      pageBytes: PAGE_BYTES,
      ...retryOf(row),
      records: tokens.records,
      ...(iteration.parent === undefined ? {} : { parent: iteration.parent }),
      share: iteration.shard?.share,
    });
  const source = await openSource(row.source, open, request, closers);
  closers.defer(leave);
  const labels = { pipeline: context.pipeline, row: row.id, connector: row.source.type };
  countOpen(metrics.sourceInFlight, labels, request, closers);
  const isShare = iteration.shard?.share !== undefined;
  const { replay, unbounded, bookmarks } = capabilitiesOf(row.source.definition, config, isShare);
  return { source, replay, unbounded, bookmarks, leave };
}

/** Restricts the source to the range of the shard, where it is one. */
function configOfShard({ row, iteration: { shard } }: InvocationRequest, config: unknown): unknown {
  if (shard?.span === undefined || row.shard === undefined || !('key' in row.shard)) return config;
  return row.source.definition.slices?.within(config, row.shard.key, [shard.span]);
}

interface OutputOptions {
  readonly context: PartContext;
  readonly hitFailpoint: HitFailpoint | undefined;
}

interface MainOutputOptions extends OutputOptions {
  readonly start: OpenedInvocation['start'];
  readonly progress: Progress;
}

function progressOf(
  request: InvocationRequest,
  { source, unbounded, bookmarks, state }: OpenedInput & Pick<OpenedInvocation, 'state'>,
): Progress {
  if (unbounded !== undefined || source.acknowledge !== undefined) return 'live';
  return bookmarks && state !== undefined && storesPositions(request) ? 'positions' : 'nothing';
}

/** The sink and the dead-letter queue. */
async function openOutput(
  request: InvocationRequest,
  options: MainOutputOptions,
  closers: AsyncDisposableStack,
): Promise<
  Pick<OpenedInvocation, 'sink' | 'sinkConfig' | 'capabilities' | 'deadLetters' | 'flushDurable'>
> {
  const { row } = request;
  const { context, start, progress } = options;
  const startsAfter = () => start.bookmark;
  const main = await openSink(
    request,
    row.sink,
    {
      ...context,
      ...sinkRetryOf(row),
      runId: request.runId,
      claim: request.fence?.claim,
      role: 'main',
      progress,
      startsAfter,
    },
    closers,
  );
  const labels = { pipeline: context.pipeline, row: row.id, connector: row.sink.type };
  countOpen(metrics.sinkInFlight, labels, request, closers);
  const queue =
    row.dlq === undefined ? undefined : await openDeadLetters(request, row.dlq, options, closers);
  const drift = blockOf(row, schemaDriftBlock);
  if (drift !== undefined) assertCanEvolve(drift, main.capabilities, row.sink.type);
  return {
    ...main,
    deadLetters: queue?.deadLetters,
    flushDurable: main.capabilities.flushDurable && queue?.capabilities.flushDurable !== false,
  };
}

export async function openSink(
  request: Pick<InvocationRequest, 'tokens' | 'concurrency' | 'dryRun'>,
  plan: PlannedSink,
  context: Parameters<PlannedSink['definition']['open']>[1],
  closers: AsyncDisposableStack,
): Promise<{ sink: Sink; sinkConfig: unknown; capabilities: SinkCapabilities }> {
  const sinkConfig = resolve(request, plan);
  const capabilities = plan.definition.capabilities(sinkConfig);
  if (request.dryRun === true) return { sink: dryRunSink(), sinkConfig, capabilities };
  const open = async (): Promise<Sink> => plan.definition.open(sinkConfig, context);
  return { sink: await openPart('Sink', plan, open, closers), sinkConfig, capabilities };
}

async function openDeadLetters(
  request: InvocationRequest,
  plan: DlqPlan,
  { context, hitFailpoint }: OutputOptions,
  closers: AsyncDisposableStack,
): Promise<{ deadLetters: DeadLetters; capabilities: SinkCapabilities }> {
  const { pipeline, row, env } = context;
  const sinkContext = { ...context, runId: request.runId, role: 'dlq' } as const;
  const { sink, capabilities } = await openSink(request, plan.sink, sinkContext, closers);
  const sinkType = request.row.sink.type;
  const hide = deadLetterMaskOf(request.row);
  const deadLetters = new DeadLetters({
    env,
    plan,
    sink,
    pipeline,
    row,
    sinkType,
    hitFailpoint,
    hide,
    parentKey: request.iteration.key ?? undefined,
    fence: request.fence,
  });
  return { deadLetters, capabilities };
}

/** An invocation that wrote nothing has replaced nothing, and gives its claim back. */
function claimOutput(
  request: InvocationRequest,
  tally: Tally,
  closers: AsyncDisposableStack,
): void {
  const { row, claims, dryRun } = request;
  if (dryRun === true) return;
  const output = replacedOutput(row.sink.definition, resolve(request, row.sink));
  if (output === undefined) return;
  const release = claims.claim(output, row.id);
  closers.defer(() => {
    if (tally.written === 0) release();
  });
}

/**
 * Threads work on several pages at a time; failpoints and captures need one page after the other.
 */
function poolOf(
  { env, plan, row, tokens, threads, dryRun, onFailpoint, capture }: InvocationRequest,
  { work, ...chain }: Pick<PageWorkOptions, 'transforms' | 'stages'> & { readonly work: PageWork },
  { encodings }: SinkCapabilities,
): StagePool {
  const isParallel =
    row.lane.sideBySide === true &&
    dryRun !== true &&
    onFailpoint === undefined &&
    capture === undefined;
  if (threads === undefined || !isParallel) return inlinePool(work);
  return new GrowingStagePool({
    setup: () => setupOf({ plan, row, tokens, encodings }),
    work,
    schemaAfter: schemaAfterStages(chain),
    budget: threads,
    metrics: env.metrics,
    row: row.id,
    log: env.log.at('headgate::engine'),
  });
}

function failpointsOf(
  { onFailpoint, row }: InvocationRequest,
  tally: Tally,
): HitFailpoint | undefined {
  return onFailpoint === undefined
    ? undefined
    : (failpoint) => onFailpoint(failpoint, { row: row.id, page: tally.pages });
}

function retryOf(row: PlannedRow): { readonly retry?: RetryPolicy } {
  const retry = blockOf(row, resilienceBlock)?.retry;
  return retry === undefined ? {} : { retry };
}

/**
 * Where `poison` says how often a record is sent altogether, the sink does not repeat by itself.
 */
function sinkRetryOf(row: PlannedRow): { readonly retry?: RetryPolicy } {
  return blockOf(row, resilienceBlock)?.poison === undefined ? retryOf(row) : {};
}
