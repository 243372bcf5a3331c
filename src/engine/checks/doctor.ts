/** Preflight: checks every part of every root row without moving a record. */
import { verifyBlock } from '../../blocks/verify/index.ts';
import { slaBlock } from '../../blocks/sla/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { Gate } from '../../lib/gate.ts';
import { AppError, messageOf, StopReason } from '../../lib/errors.ts';
import { createCredentials } from '../../credentials/index.ts';
import type { PartContext } from '../../kit/context.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { Probe, ProbeFinding } from '../../kit/probe.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type {
  PlannedRow,
  PlannedSink,
  PlannedSource,
  PlannedState,
  PlannedTransform,
} from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { compileIssues } from './compile-check.ts';
import { historyKey, historyOf, isStale, stalenessText } from '../after-run/sla.ts';
import type { DoctorEvent } from '../../wire/doctor.ts';
import type { ExecuteOptions } from '../engine.ts';
import { firstIteration, stateKeyOf } from '../expand/iteration.ts';

/** Rows checked at the same time. */
const PARALLEL_ROWS = 8;

export interface DoctorOptions extends Pick<
  ExecuteOptions,
  'plan' | 'parts' | 'env' | 'clock' | 'signal'
> {
  /** Budget of one part's probes. */
  readonly timeoutMs: number;
  /** Receives which part is being probed, and the result of each row. */
  readonly hear?: (event: DoctorEvent) => void;
}

type Role = 'source' | 'transform' | 'sink' | 'state';
type RowProbe = Probe & { readonly role: Role; readonly connector: string };

export interface RowReport {
  readonly id: string;
  /** The guarantee; a source node has none. */
  readonly delivery?: string;
  readonly probes: readonly RowProbe[];
}

/** The report as the HTTP API shows it; the command line adds `config` and `summary`. */
export interface DoctorReport {
  readonly invocations: readonly RowReport[];
}

export function failedProbes(report: DoctorReport): number {
  return report.invocations.flatMap((row) => row.probes).filter((probe) => probe.status === 'fail')
    .length;
}

export async function doctor(options: DoctorOptions): Promise<DoctorReport> {
  const gate = new Gate(PARALLEL_ROWS);
  const { rows, fanOuts, topology } = options.plan;
  const inLine = async (check: () => Promise<RowReport>): Promise<RowReport> => {
    const release = await gate.enter(options.signal);
    try {
      const row = await check();
      options.hear?.({ type: 'checked', row });
      return row;
    } finally {
      release();
    }
  };
  const nodes = (topology?.nodes ?? []).flatMap((node) =>
    node.kind === 'transform' ? [node] : [],
  );
  const alone = [
    ...(topology?.nodes ?? []).flatMap((node) => (node.kind === 'source' ? [node] : [])),
    ...fanOuts.filter(({ forEach }) => forEach.length === 0),
  ];
  const sources = alone.map((one) => inLine(() => checkSource(options, one)));
  const steps = nodes.map((node) =>
    inLine(async () => ({ id: node.id, probes: await checkTransforms(options, node) })),
  );
  const reports = await Promise.all([
    ...sources,
    ...steps,
    ...rows.map((row) => inLine(() => checkRow(options, row))),
  ]);
  return { invocations: reports.filter(({ probes }) => probes.length > 0) };
}

/** A source without a row: a source node of a graph, or the list of a fan-out row. */
async function checkSource(
  options: DoctorOptions,
  { id, source }: { readonly id: string; readonly source: PlannedSource },
): Promise<RowReport> {
  options.hear?.({ type: 'checking', id, role: 'source', connector: source.type, before: [] });
  const found = await timed(options, (context, tokens) => probeSource(source, context, tokens), {
    id,
  });
  return {
    id,
    probes: found.map((probe) => ({ role: 'source', connector: source.type, ...probe })),
  };
}

/**
 * Reports transforms that cannot be compiled: there is nothing else to check before the first
 * record.
 */
async function checkTransforms(
  options: DoctorOptions,
  { id, transforms }: Pick<PlannedRow, 'id' | 'transforms'>,
  before: readonly RowProbe[] = [],
): Promise<RowProbe[]> {
  const check = async (
    part: PlannedTransform,
    { env }: PartContext,
    tokens: RuntimeTokens,
  ): Promise<ProbeFinding[]> => {
    const issues = await compileIssues([part], { env, tokens });
    return issues.map(({ message, hint }) => ({
      name: 'compile',
      status: 'fail',
      reason: message,
      ...(hint === undefined ? {} : { hint }),
    }));
  };
  const probes: RowProbe[] = [];
  for (const part of transforms) {
    const known = [...before, ...probes];
    const { type: connector } = part;
    options.hear?.({ type: 'checking', id, role: 'transform', connector, before: known });
    const found = await timed(options, (context, tokens) => check(part, context, tokens), { id });
    probes.push(...found.map((probe) => ({ role: 'transform' as const, connector, ...probe })));
  }
  return probes;
}

async function checkRow(options: DoctorOptions, row: PlannedRow): Promise<RowReport> {
  const probes: RowProbe[] = [];
  const add = (role: Role, connector: string, found: readonly Probe[]): void => {
    for (const probe of found) probes.push({ role, connector, ...probe });
  };
  const reason = unknownBefore(row);
  if (reason !== undefined) {
    add('source', row.source.type, [{ name: 'check', status: 'skip', reason, elapsed_ms: 0 }]);
    return { id: row.id, delivery: row.guarantee, probes };
  }
  const probe = async (role: Role, { type: connector }: AnyPart, check: Check): Promise<void> => {
    const { id, guarantee: delivery } = row;
    options.hear?.({ type: 'checking', id, delivery, role, connector, before: [...probes] });
    add(role, connector, await timed(options, check, row));
  };
  // A sink node reads an edge; the sources of its graph are checked once each, by themselves.
  if (options.plan.topology === undefined)
    await probe('source', row.source, (context, tokens) =>
      probeSource(row.source, context, tokens),
    );
  probes.push(...(await checkTransforms(options, row, probes)));
  await probe('sink', row.sink, (context, tokens) => probeSink(row.sink, context, tokens));
  const reader = blockOf(row, verifyBlock)?.destination;
  if (reader !== undefined)
    await probe('source', reader, (context, tokens) => probeSource(reader, context, tokens));
  const { state, dlq } = row;
  const bookmark = stateKeyOf(row, firstIteration(row));
  if (state !== undefined)
    await probe('state', state, (context, tokens) =>
      probeState(state, context, { tokens, bookmark }),
    );
  if (state !== undefined && blockOf(row, slaBlock)?.max_staleness_secs !== undefined)
    await probe('state', state, (context, tokens) => probeStaleness(row, state, context, tokens));
  if (dlq !== undefined)
    await probe('sink', dlq.sink, (context, tokens) => probeSink(dlq.sink, context, tokens));
  return { id: row.id, delivery: row.guarantee, probes };
}

type AnyPart = Pick<PlannedSource | PlannedSink | PlannedState, 'type'>;

/** Why nothing of a row can be checked before it runs. */
function unknownBefore({ role, partition }: PlannedRow): string | undefined {
  if (role === 'child') return 'a child row depends on the records of its parent';
  if (role === 'product') return 'a row with `for_each` depends on the values of other rows';
  if (partition === undefined || partition.chunks?.at(0) !== undefined) return undefined;
  return partition.chunks === undefined
    ? 'the chunks of the row are discovered at run time'
    : 'the range of the row is empty';
}

type Check = (context: PartContext, tokens: RuntimeTokens) => Promise<ProbeFinding[]>;

/** A partitioned row is checked by its first chunk. */
type Checked = Pick<PlannedRow, 'id'> & Partial<Pick<PlannedRow, 'partition'>>;

/** Runs one part's probes under the budget; whatever is thrown becomes a finding. */
async function timed(options: DoctorOptions, check: Check, row: Checked): Promise<Probe[]> {
  const { env, plan, clock, timeoutMs } = options;
  const budget = new AbortController();
  const signal = AbortSignal.any([options.signal, budget.signal]);
  const timer = setTimeout(
    () => budget.abort(new StopReason('timeout', `no answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const from = env.clock.elapsedMs();
  const credentials = createCredentials(options.parts.credentials, plan.auth, { env, signal });
  const context: PartContext = {
    env,
    pipeline: plan.name,
    row: row.id,
    invocationId: env.ids.next(),
    signal,
    credentials,
  };
  const { records } = firstIteration({ id: row.id, partition: row.partition });
  let found: ProbeFinding[];
  try {
    found = await Promise.race([
      check(context, { now: { date: clock, zone: 'UTC' }, records }),
      expired(signal),
    ]);
  } catch (error) {
    const name = signal.aborted ? 'timeout' : 'construct';
    const hint =
      error instanceof AppError && error.hint !== undefined
        ? { hint: env.redactor.text(error.hint) }
        : {};
    found = [{ name, status: 'fail', reason: messageOf(error), ...hint }];
  } finally {
    clearTimeout(timer);
    budget.abort();
  }
  const elapsed = Math.round(env.clock.elapsedMs() - from);
  return found.map((finding) => ({ ...env.redactor.json(finding), elapsed_ms: elapsed }));
}

function expired(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

async function probeSource(
  part: PlannedSource,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const { definition } = part;
  const config = resolvePart(shrunk(part), tokens);
  const sourceContext = { ...context, pageBytes: 1024 * 1024 };
  if (definition.probe !== undefined) return definition.probe(config, sourceContext);
  const source = await definition.open(config, sourceContext);
  try {
    for await (const _page of source.pages({ lane: RECORDS_LANE, limit: 1 })) break;
    return [{ name: 'read', status: 'pass' }];
  } catch (error) {
    const hint = error instanceof AppError && error.hint !== undefined ? { hint: error.hint } : {};
    return [{ name: 'read', status: 'fail', reason: messageOf(error), ...hint }];
  } finally {
    await source.close();
  }
}

/** One record is enough to know that reading works. */
function shrunk(part: PlannedSource): PlannedSource {
  if (!('batch_size' in part.config)) return part;
  return { ...part, config: { ...part.config, batch_size: 1 }, deferred: true, parsed: undefined };
}

async function probeSink(
  part: PlannedSink,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const { definition } = part;
  if (definition.probe === undefined)
    return [
      { name: 'check', status: 'skip', reason: 'this sink has no check that would not write' },
    ];
  return definition.probe(resolvePart(part, tokens), {
    ...context,
    runId: context.invocationId,
    role: 'main',
  });
}

async function probeState(
  part: PlannedState,
  context: PartContext,
  { tokens, bookmark }: { readonly tokens: RuntimeTokens; readonly bookmark: string },
): Promise<ProbeFinding[]> {
  const { definition } = part;
  const config = resolvePart(part, tokens);
  if (definition.probe !== undefined) return definition.probe(config, context);
  const store = await definition.open(config, context);
  try {
    // Rows that share a store are checked at the same time.
    const key = `headgate::doctor::${context.invocationId}`;
    await store.put(key, { at: context.env.clock.now().toISOString() });
    const back = await store.get(key);
    await store.delete(key);
    if (back === undefined)
      return [
        { name: 'sentinel', status: 'fail', reason: 'a value that was put could not be read back' },
      ];
    return [{ name: 'sentinel', status: 'pass' }, ...(await unreadable(store, bookmark))];
  } catch (error) {
    return [{ name: 'sentinel', status: 'fail', reason: messageOf(error) }];
  } finally {
    await store.close();
  }
}

/**
 * What an earlier run left may be out of reach for this document: written with another key, or
 * damaged.
 */
async function unreadable(store: StateStore, bookmark: string): Promise<ProbeFinding[]> {
  try {
    await store.get(bookmark);
    return [];
  } catch (error) {
    const hint = error instanceof AppError && error.hint !== undefined ? { hint: error.hint } : {};
    return [{ name: 'bookmark', status: 'fail', reason: messageOf(error), ...hint }];
  }
}

/** Looks at the history of the row and writes nothing. */
async function probeStaleness(
  row: PlannedRow,
  part: PlannedState,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const store = await part.definition.open(resolvePart(part, tokens), context);
  try {
    const value = await store.get(historyKey(stateKeyOf(row, firstIteration(row))));
    const history = value === undefined ? undefined : historyOf(value);
    const sla = blockOf(row, slaBlock);
    if (sla === undefined || history === undefined)
      return [{ name: 'staleness', status: 'skip', reason: 'no successful run is known yet' }];
    const age = Math.round(context.env.clock.now().getTime() / 1000) - history.last_success_unix;
    if (!isStale(age, sla)) return [{ name: 'staleness', status: 'pass' }];
    return [{ name: 'staleness', status: 'fail', reason: stalenessText(age, sla) }];
  } finally {
    await store.close();
  }
}
