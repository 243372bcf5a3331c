/**
 * Shows what each stage of a row does to sample records: those of a file, or the first ones of its
 * source.
 */
import path from 'node:path';
import { schemaText } from '../../kit/type-text.ts';
import {
  destinationDocument,
  destinationLines,
} from '../../features/plan-view/sample-destination.ts';
import { formatEvidence, typesDocument } from '../../features/plan-view/stage-types.ts';
import type { StageTypes } from '../../engine/stages/row-types.ts';
import type { SeenColumns, SeenDestination } from '../../engine/checks/look-at-destination.ts';
import type { FirstRecords } from '../../engine/preview/first-records.ts';
import type { SampleTrace, StageTrace } from '../../engine/preview/trace-stages.ts';
import type { Parts } from '../../kit/parts.ts';
import { ConfigError, messageOf } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { localFiles } from '../../document/text/local-file.ts';
import { readRecords } from '../../document/parse/read-records.ts';
import { rowOfNode } from '../../plan/node-path.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { count } from '../../lib/text/count.ts';
import { listenForStop } from '../framework/signals.ts';

export interface SampleRequest {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly rows: readonly PlannedRow[];
  /** A file of records; without one the source itself is read. */
  readonly sample: string | undefined;
  readonly limit: number;
  /** Whether the destination is looked at; absent where nothing is told of it as text. */
  readonly looks?: boolean;
  /** Time to use for `${now.*}`, instead of the present. */
  readonly clock?: Date | undefined;
  /** The plan of the row as JSON; set for `--json`. */
  readonly document: Record<string, unknown> | undefined;
}

export async function printSample(context: CliContext, request: SampleRequest): Promise<number> {
  const { plan, rows, document, sample } = request;
  const [only] = rows;
  const row =
    only === undefined || plan.topology === undefined ? only : rowOfNode(plan.topology, only);
  if (row === undefined || rows.length > 1)
    throw usageError(
      plan.topology === undefined
        ? 'a sample goes through one row: name it with `--row`'
        : 'a sample goes to one sink node, from the source, merge or join before it: name it with `--row`',
      `rows: ${rows.map(({ id }) => id).join(', ')}`,
    );
  using stops = listenForStop(context.world, 'cancel', () => {});
  const seen = await destinationOf(context, request, row, stops.signal);
  const source = sample ?? `live: ${row.source.type}`;
  const first = await recordsOf(context, request, row, stops.signal);
  if ('failure' in first) {
    // Text is told as every error is; programs find it in the sample.
    if (document === undefined || stops.signal.aborted) throw first.failure;
    const error = context.env.redactor.text(messageOf(first.failure));
    context.terminal.json({
      ...document,
      ...probesDocument(request, seen),
      sample: sampleDocument({ ...NO_TRACE, error }, { source, seen }),
    });
    return EXIT.failed;
  }
  const { records, schema } = first;
  const { traceStages } = await import('../../engine/preview/trace-stages.ts');
  const env = context.envAt('error');
  const trace = await traceStages({
    plan,
    row,
    records,
    schema,
    destination: seen.columns.are === 'known' ? seen.columns.destination : undefined,
    env,
    clock: request.clock ?? context.world.clock.now(),
    signal: stops.signal,
  });
  if (document === undefined) {
    printTrace(context, row, trace, source);
    printDestination(context, { row, seen, trace, looks: request.looks });
  } else
    context.terminal.json({
      ...document,
      ...probesDocument(request, seen),
      sample: sampleDocument(trace, { source, seen }),
    });
  return trace.error === undefined && !isBad(seen) ? EXIT.ok : EXIT.failed;
}

const NO_TRACE: SampleTrace = {
  types: [],
  input: [],
  stages: [],
  output: [],
  columns: [],
  drift: undefined,
  error: undefined,
};

/** Time limit of a look at the destination. */
const LOOK_MS = 10_000;

async function destinationOf(
  context: CliContext,
  { plan, parts, clock, looks }: SampleRequest,
  row: PlannedRow,
  signal: AbortSignal,
): Promise<SeenDestination> {
  const { columnsWithoutLook, lookAtDestination } =
    await import('../../engine/checks/look-at-destination.ts');
  if (looks !== true) return { probes: [], columns: columnsWithoutLook(row) };
  const env = context.envAt('error');
  const now = clock ?? context.world.clock.now();
  return lookAtDestination({ plan, parts, env, clock: now, signal, timeoutMs: LOOK_MS }, row);
}

function isBad({ probes, columns }: SeenDestination): boolean {
  return probes.some(({ status }) => status === 'fail') || errorOf(columns) !== undefined;
}

function errorOf(columns: SeenColumns): string | undefined {
  return columns.are === 'unknown' ? columns.error : undefined;
}

/** Takes the place of what the plan says without a look. */
function probesDocument(
  { looks }: SampleRequest,
  { probes }: SeenDestination,
): Record<string, unknown> {
  return looks === true ? { sink_probe: probes } : {};
}

async function recordsOf(
  context: CliContext,
  request: SampleRequest,
  row: PlannedRow,
  signal: AbortSignal,
): Promise<FirstRecords | { readonly failure: unknown }> {
  const { sample, limit } = request;
  if (sample !== undefined) return { records: fromFile(context, sample, limit), schema: undefined };
  try {
    return await fromSource(context, request, row, signal);
  } catch (failure) {
    return { failure };
  }
}

function fromFile({ world }: CliContext, name: string, limit: number): readonly JsonValue[] {
  const read = readRecords({
    name,
    path: path.resolve(world.cwd, name),
    readFile: localFiles(world.cwd),
  });
  if (read.ok) return read.records.slice(0, limit);
  throw new ConfigError([{ ...read.fault, path: '', file: name }], { stage: 'parse' });
}

async function fromSource(
  { world, env }: CliContext,
  request: SampleRequest,
  row: PlannedRow,
  signal: AbortSignal,
): Promise<FirstRecords> {
  const { firstRecords } = await import('../../engine/preview/first-records.ts');
  const { plan, parts, limit } = request;
  const clock = request.clock ?? world.clock.now();
  return firstRecords({ plan, parts, env, row, limit, clock, signal });
}

function sampleDocument(
  trace: SampleTrace,
  { source, seen }: { readonly source: string; readonly seen: SeenDestination },
): Record<string, unknown> {
  const error = trace.error ?? errorOf(seen.columns);
  return {
    source,
    input_records: trace.input.length,
    output_records: trace.output.length,
    dlq_records: deadOf(trace),
    inferred_schema: trace.columns.map(({ name, types, nulls }) => ({
      name,
      types: [...types],
      nullable: nulls,
    })),
    ...destinationDocument(seen.columns, trace),
    ...typesDocument({ stages: trace.types }),
    stages: trace.stages,
    ...(error === undefined ? {} : { error }),
  };
}

function deadOf({ stages }: SampleTrace): number {
  return stages.reduce((sum, { dead }) => sum + dead.length, 0);
}

function printTrace(
  { terminal }: CliContext,
  row: PlannedRow,
  trace: SampleTrace,
  source: string,
): void {
  const line = (text: string): void => terminal.print(text);
  line(`${terminal.ink('bold', row.id)}  ${count(trace.input.length, 'record')} of ${source}`);
  const printTypes = (types: StageTypes | undefined): void => {
    if (types?.schema !== undefined)
      line(`    ${terminal.ink('dim', `types: ${schemaText(types.schema)}`)}`);
  };
  for (const record of trace.input) line(`    ${stringifyJson(record)}`);
  printTypes(trace.types[0]);
  for (const text of formatEvidence(trace.types[0]?.schema))
    line(`    ${terminal.ink('dim', `inferred: ${text}`)}`);
  for (const [index, stage] of trace.stages.entries()) {
    printStage(terminal, stage);
    printTypes(typesOf(trace, stage, index));
  }
  if (trace.error !== undefined)
    line(`\n  ${terminal.ink('red', 'the run would end here:')} ${trace.error}`);
  else
    line(
      `\n  to ${row.sink.type}: ${count(trace.output.length, 'record')}; to the dead-letter queue: ${deadOf(trace)}`,
    );
}

interface PrintedDestination {
  readonly row: PlannedRow;
  readonly seen: SeenDestination;
  readonly trace: SampleTrace;
  readonly looks: boolean | undefined;
}

function printDestination(
  { terminal }: CliContext,
  { row, seen, trace, looks }: PrintedDestination,
): void {
  if (looks === undefined) return;
  if (!looks && seen.columns.are === 'unknown')
    terminal.print('  destination: not looked at; `--live` compares the records with its columns');
  for (const { text, isError } of destinationLines(row, seen, trace))
    terminal.print(`  ${isError === true ? terminal.ink('red', text) : text}`);
}

export function printStage(terminal: CliContext['terminal'], stage: StageTrace): void {
  terminal.print(`\n  ${terminal.ink('bold', stage.stage)}  ${countsOf(stage)}`);
  for (const text of changesOf(stage)) terminal.print(`    ${text}`);
  for (const { reason, message, record } of stage.dead)
    terminal.print(
      `    ${terminal.ink('red', `dead (${reason})`)} ${stringifyJson(record)}  ${message}`,
    );
}

/** Transforms have one type each, in their order; of the other stages only some change types. */
function typesOf(
  { types }: SampleTrace,
  { stage }: StageTrace,
  index: number,
): StageTypes | undefined {
  const own = types[index + 1];
  return own?.stage === stage ? own : types.find((one) => one.stage === stage);
}

function countsOf({ before, after, filtered, expanded, dead }: StageTrace): string {
  const parts = [
    ...(filtered > 0 ? [`${filtered} filtered`] : []),
    ...(expanded > 0 ? [`${expanded} more`] : []),
    ...(dead.length > 0 ? [`${dead.length} dead`] : []),
  ];
  return `${before.length} → ${after.length}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`;
}

/** Record by record where they still answer to each other, otherwise what there is now. */
function changesOf({ before, after, filtered, expanded, dead }: StageTrace): string[] {
  const texts = after.map((record) => stringifyJson(record));
  if (filtered > 0 || expanded > 0 || dead.length > 0 || before.length !== after.length)
    return texts;
  const changed = texts.flatMap((text, index) => {
    const was = stringifyJson(before[index] ?? null);
    return was === text ? [] : [`${was}  →  ${text}`];
  });
  return changed.length === 0 ? ['nothing changes'] : changed;
}
