/**
 * Opens everything an invocation needs, in the order in which it must be closed again (last first).
 */
import type { Env } from '../../lib/env.ts';
import type { Labels, MetricDefinition } from '../../lib/metrics/metrics.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Credentials, PartContext } from '../../kit/context.ts';
import {
  replacedOutput,
  type ColumnType,
  type Sink,
  type SinkCapabilities,
} from '../../kit/sink.ts';
import type { Source } from '../../kit/source.ts';
import type { DlqPlan, PartPlan, Plan, RowPlan, SinkPlan, SourcePlan } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import type { FailpointHook, HitFailpoint } from '../failpoints.ts';
import { DeadLetters } from '../dlq/dead-letters.ts';
import { stateKeyOf, type Iteration } from '../expand/iteration.ts';
import { wrapConnectorError } from '../failure.ts';
import * as metrics from '../metrics.ts';
import type { Capture, Invocation } from './invocation.ts';
import { SeenKeys } from '../delivery/seen-keys.ts';
import { METADATA_TYPES } from '../delivery/stamp.ts';
import { pageWork, type PageWork } from '../stages/page-work.ts';
import { assertCanEvolve } from '../stages/schema-drift.ts';
import { stagePlace } from '../stages/stage.ts';
import { stagesOf } from '../stages/stages.ts';
import type { RowSampler } from '../observe/samples.ts';
import type { OutputClaims } from './output-claims.ts';
import { withinGracePeriod } from '../grace-period.ts';
import { compileTransforms } from '../stages/compile-transforms.ts';
import type { TransformChain } from '../stages/transform-chain.ts';
import { Tally } from './tally.ts';
import type { ThreadBudget } from '../threads/budget.ts';
import { inlinePool, GrowingStagePool } from '../threads/stage-pool.ts';
import { setupOf } from '../threads/setup.ts';
import type { StagePool } from '../threads/ordered-prefetch.ts';
import { dryRunSink } from './dry-run-sink.ts';

/** How much one page may hold in encoded form; with one page ahead this bounds a row's memory. */
export const PAGE_BYTES = 4 * 1024 * 1024;

export interface OpenOptions {
  readonly env: Env;
  readonly plan: Plan;
  readonly row: RowPlan;
  readonly runId: string;
  readonly invocationId: string;
  readonly credentials: Credentials;
  readonly tokens: RuntimeTokens;
  readonly iteration: Iteration;
  readonly capture: Capture | undefined;
  readonly stop: AbortSignal;
  readonly kill: AbortSignal;
  readonly concurrency: number | undefined;
  readonly dryRun: boolean;
  readonly onFailpoint: FailpointHook | undefined;
  /** Looks at what records look like, when somebody wants to know. */
  readonly sampler?: RowSampler | undefined;
  /** Of the whole run. */
  readonly claims: OutputClaims;
  /** Absent where pages are to be worked on one by one. */
  readonly threads?: ThreadBudget | undefined;
}

export async function openInvocation(
  options: OpenOptions,
  closers: AsyncDisposableStack,
): Promise<Invocation> {
  const { row, plan, iteration, stop, kill } = options;
  const labels = { pipeline: plan.name, row: row.id };
  const context = partContext(options);
  const tally = new Tally();
  const hitFailpoint = failpointsOf(options, tally);
  const transforms = await openTransforms(options, closers);
  const stateKey = stateKeyOf(row, iteration);
  const state =
    row.state === undefined
      ? undefined
      : await openPart(
          'State',
          row.state,
          () => row.state?.definition.open(resolve(options, row.state), context),
          closers,
        );
  const retry = row.retry === undefined ? {} : { retry: row.retry };
  const sourceContext = {
    ...context,
    signal: stop,
    pageBytes: PAGE_BYTES,
    ...retry,
    records: options.tokens.records,
    ...(iteration.parent === undefined ? {} : { parent: iteration.parent }),
  };
  const sourceConfig = sharded(resolve(options, row.source), options);
  const source = await openSource(
    row.source,
    () => row.source.definition.open(sourceConfig, sourceContext),
    options,
    closers,
  );
  inFlight(metrics.sourceInFlight, { ...labels, connector: row.source.type }, options, closers);
  claimOutput(options, tally, closers);
  const { sink, capabilities } = await openSink(
    options,
    row.sink,
    { ...context, ...retry, runId: options.runId, role: 'main' },
    closers,
  );
  inFlight(metrics.sinkInFlight, { ...labels, connector: row.sink.type }, options, closers);
  const queue =
    row.dlq === undefined
      ? undefined
      : await openDeadLetters(options, row.dlq, { ...context, hitFailpoint }, closers);
  const flushDurable = capabilities.flushDurable && queue?.capabilities.flushDurable !== false;
  if (row.governance.schema !== undefined)
    assertCanEvolve(row.governance.schema, capabilities, row.sink.type);
  const stages = stagesOf({ env: context.env, ...stagePlace(plan, row) }, row.governance, {
    schema: sink.schema,
    supplied: suppliedColumns(row),
  });
  const pool = poolOf(
    options,
    pageWork({ env: context.env, labels, transforms, stages, kill }),
    capabilities,
  );
  closers.defer(() => pool.close());
  return {
    env: context.env,
    id: options.invocationId,
    row,
    labels,
    source,
    sink,
    capabilities,
    replay: row.source.definition.capabilities(sourceConfig).replay,
    flushDurable,
    deadLetters: queue?.deadLetters,
    pool,
    state,
    stateKey,
    watermark: undefined,
    tally,
    ...(row.cleanUp === undefined || options.dryRun
      ? {}
      : { seen: new SeenKeys(capabilities.key) }),
    capture: options.capture,
    sampler: options.sampler,
    hitFailpoint,
    stop,
    kill,
  };
}

/** What the source is to read of its result. */
function sharded(config: unknown, { row, iteration: { shard } }: OpenOptions): unknown {
  if (shard === undefined || row.shard === undefined) return config;
  return row.source.definition.slices?.within(config, row.shard.key, [shard.span]);
}

/**
 * Threads look ahead. Whoever counts the steps of a run, or keeps what it read for others, is to
 * find one page after the other.
 */
function poolOf(options: OpenOptions, work: PageWork, { encodings }: SinkCapabilities): StagePool {
  const { env, plan, row, tokens, threads, dryRun } = options;
  const isSideBySide =
    row.lane.sideBySide === true &&
    !dryRun &&
    options.onFailpoint === undefined &&
    options.capture === undefined;
  if (threads === undefined || !isSideBySide) return inlinePool(work);
  return new GrowingStagePool({
    setup: () => setupOf({ plan, row, tokens, encodings }),
    work,
    budget: threads,
    metrics: env.metrics,
    row: row.id,
    log: env.log.at('headgate::engine'),
  });
}

/** Nothing at all when nobody listens. */
function failpointsOf({ onFailpoint, row }: OpenOptions, tally: Tally): HitFailpoint | undefined {
  return onFailpoint === undefined
    ? undefined
    : (step) => onFailpoint(step, { row: row.id, page: tally.pages });
}

interface Opener extends Pick<
  OpenOptions,
  'env' | 'plan' | 'invocationId' | 'kill' | 'credentials'
> {
  readonly row: Pick<RowPlan, 'id'>;
}

export function partContext({
  env,
  plan,
  row,
  invocationId,
  kill,
  credentials,
}: Opener): PartContext {
  const log = env.log.at(`headgate::${row.id}`);
  return {
    env: { ...env, log },
    pipeline: plan.name,
    row: row.id,
    invocationId,
    signal: kill,
    credentials,
  };
}

/** Columns that no record brings, because they are put on just before the write. */
function suppliedColumns({ metadataColumns }: RowPlan): ReadonlyMap<string, ColumnType> {
  return new Map((metadataColumns ?? []).map(({ column, name }) => [name, METADATA_TYPES[column]]));
}

/** Counts a part as open until everything is closed. */
function inFlight(
  metric: MetricDefinition,
  labels: Labels,
  { env }: OpenOptions,
  closers: AsyncDisposableStack,
): void {
  env.metrics.inc(metric, labels);
  closers.defer(() => env.metrics.inc(metric, labels, -1));
}

async function openPart<T extends { close(): Promise<void> }>(
  place: 'Sink' | 'State',
  part: PartPlan<unknown>,
  open: () => Promise<T> | undefined,
  closers: AsyncDisposableStack,
): Promise<T> {
  try {
    const opened = await open();
    if (opened === undefined) throw new Error(`cannot happen: ${part.path} has no definition`);
    closers.defer(() => opened.close());
    return opened;
  } catch (error) {
    throw wrapConnectorError(place, part.type, error);
  }
}

/**
 * Unlike the other parts a source may be left behind in a call of the system, and then never
 * closes.
 */
export async function openSource(
  part: Pick<SourcePlan, 'type'>,
  open: () => Promise<Source>,
  { env }: Pick<OpenOptions, 'env'>,
  closers: AsyncDisposableStack,
): Promise<Source> {
  try {
    const source = await open();
    closers.defer(async () => void (await withinGracePeriod(source.close(), env.clock)));
    return source;
  } catch (error) {
    throw wrapConnectorError('Source', part.type, error);
  }
}

/** Whoever has written nothing has replaced nothing either. */
function claimOutput(options: OpenOptions, tally: Tally, closers: AsyncDisposableStack): void {
  const { row, claims, dryRun } = options;
  const output = dryRun
    ? undefined
    : replacedOutput(row.sink.definition, resolve(options, row.sink));
  if (output === undefined) return;
  const release = claims.claim(output, row.id);
  closers.defer(() => {
    if (tally.written === 0) release();
  });
}

async function openSink(
  options: OpenOptions,
  plan: SinkPlan,
  context: Parameters<SinkPlan['definition']['open']>[1],
  closers: AsyncDisposableStack,
): Promise<{ sink: Sink; capabilities: SinkCapabilities }> {
  const config = resolve(options, plan);
  const capabilities = plan.definition.capabilities(config);
  if (options.dryRun) return { sink: dryRunSink(), capabilities };
  const sink = await openPart('Sink', plan, () => plan.definition.open(config, context), closers);
  return { sink, capabilities };
}

async function openDeadLetters(
  options: OpenOptions,
  plan: DlqPlan,
  { hitFailpoint, ...context }: PartContext & { readonly hitFailpoint: HitFailpoint | undefined },
  closers: AsyncDisposableStack,
): Promise<{ deadLetters: DeadLetters; capabilities: SinkCapabilities }> {
  const { sink, capabilities } = await openSink(
    options,
    plan.sink,
    { ...context, runId: options.runId, role: 'dlq' },
    closers,
  );
  const { pipeline, row, env } = context;
  return {
    deadLetters: new DeadLetters({
      env,
      plan,
      sink,
      pipeline,
      row,
      sinkType: options.row.sink.type,
      hitFailpoint,
    }),
    capabilities,
  };
}

export async function openTransforms(
  options: Pick<OpenOptions, 'env' | 'tokens' | 'concurrency'> & {
    readonly row: Pick<RowPlan, 'transforms'>;
  },
  closers: AsyncDisposableStack,
): Promise<TransformChain> {
  const transforms = options.row.transforms.map((transform) => ({
    ...transform,
    config: resolve(options, transform),
  }));
  const chain = await compileTransforms(transforms, options.env);
  closers.defer(() => chain.close());
  return chain;
}

/**
 * The parsed config for this invocation: run-time tokens filled in, the submission's `concurrency`
 * laid over.
 */
export function resolve<D>(
  options: Pick<OpenOptions, 'tokens' | 'concurrency'>,
  part: PartPlan<D>,
): unknown {
  const { concurrency, tokens } = options;
  const keys = (part.definition as { concurrencyKeys?: readonly string[] }).concurrencyKeys ?? [];
  if (concurrency === undefined || keys.length === 0) return resolvePart(part, tokens);
  const config: JsonObject = { ...part.config };
  for (const key of keys) config[key] = concurrency;
  return resolvePart({ ...part, config, deferred: true, parsed: undefined }, tokens);
}
