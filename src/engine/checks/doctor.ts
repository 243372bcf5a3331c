/** Preflight: checks every part of every root row without moving a record. */
import { replicationOf } from '../../blocks/replication/index.ts';
import { verifyBlock } from '../../blocks/verify/index.ts';
import { slaBlock } from '../../blocks/sla/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { Gate } from '../../lib/gate.ts';
import type { Probe } from '../../kit/probe.ts';
import type { PlannedRow, PlannedSink, PlannedSource, PlannedState } from '../../plan/plan.ts';
import type { DoctorEvent } from '../../wire/doctor.ts';
import {
  probeSink,
  probeSource,
  probeStaleness,
  probeState,
  probeTransform,
} from './part-probes.ts';
import { runCheck, type Check, type CheckOptions } from './run-check.ts';
import { unknownBefore } from './unknown-before.ts';
import { firstIteration, stateKeyOf } from '../expand/iteration.ts';

/** Rows checked at the same time. */
const PARALLEL_ROWS = 8;

export interface DoctorOptions extends CheckOptions {
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
  const found = await runCheck(options, (context, tokens) => probeSource(source, context, tokens), {
    id,
  });
  return {
    id,
    probes: found.map((probe) => ({ role: 'source', connector: source.type, ...probe })),
  };
}

async function checkTransforms(
  options: DoctorOptions,
  { id, transforms }: Pick<PlannedRow, 'id' | 'transforms'>,
  before: readonly RowProbe[] = [],
): Promise<RowProbe[]> {
  const probes: RowProbe[] = [];
  for (const part of transforms) {
    const known = [...before, ...probes];
    const { type: connector } = part;
    options.hear?.({ type: 'checking', id, role: 'transform', connector, before: known });
    const found = await runCheck(
      options,
      (context, tokens) => probeTransform(part, context, tokens),
      { id },
    );
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
    add(role, connector, await runCheck(options, check, row));
  };
  // A sink node reads an edge; the sources of its graph are checked once each, by themselves.
  if (options.plan.topology === undefined)
    await probe('source', row.source, (context, tokens) =>
      probeSource(row.source, context, tokens),
    );
  const snapshot = replicationOf(options.plan)?.source;
  if (snapshot !== undefined)
    await probe('source', snapshot, (context, tokens) => probeSource(snapshot, context, tokens));
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
