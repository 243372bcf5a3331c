/**
 * What each stage of a row does to a sample of records: the stages themselves, one after the other,
 * with a look in between.
 */
import type { KnownDestination } from '../checks/look-at-destination.ts';
import { suppliedColumns } from '../delivery/stamp.ts';
import { governanceOf } from '../stages/governance.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { describedTypes, type StageTypes } from '../stages/row-types.ts';
import { copyJson } from '../topology/copy-json.ts';
import { Page } from '../../kit/page.ts';
import type { SchemaAccess, SchemaChange as ColumnChange } from '../../kit/sink.ts';
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { hideAll, hideValues, maskRenamed, type HideRecord } from '../stages/hide-masked.ts';
import { createMasker } from '../stages/masking.ts';
import { compileTransforms, resolvedTransforms } from '../stages/compile-transforms.ts';
import {
  changed,
  columnsOf,
  comparePage,
  type Drift,
  type PageColumn,
} from '../stages/drift-columns.ts';
import { createSchemaDriftStage } from '../stages/schema-drift.ts';
import { PageInWork, type DeadRecord, type Stage, type StageContext } from '../stages/stage.ts';
import { stagesOf } from '../stages/stages.ts';

/**
 * One stage, and the records as it leaves them; nothing that masking hides is in clear text
 * anywhere.
 */
export interface StageTrace {
  /** `transform` with its type, or the name of a governance stage. */
  readonly stage: string;
  readonly before: readonly JsonValue[];
  readonly after: readonly JsonValue[];
  readonly filtered: number;
  readonly expanded: number;
  /** Records on their way to the dead-letter queue, each with the reason. */
  readonly dead: readonly {
    readonly reason: string;
    readonly message: string;
    readonly record: JsonValue;
  }[];
}

export interface SampleTrace {
  /** After the source and after each stage that changes fields. */
  readonly types: readonly StageTypes[];
  readonly input: readonly JsonValue[];
  readonly stages: readonly StageTrace[];
  readonly output: readonly JsonValue[];
  /**
   * The fields of the records as they come to the destination, before `schema` does something about
   * them.
   */
  readonly columns: readonly PageColumn[];
  /** How those differ from the columns of the destination, where these are known. */
  readonly drift: Drift | undefined;
  /** Why the run would end here. */
  readonly error: string | undefined;
}

export interface TraceOptions {
  readonly plan: Plan;
  readonly row: PlannedRow;
  readonly records: readonly JsonValue[];
  /** What the source knows of their fields. */
  readonly schema?: RecordSchema | undefined;
  /** The columns that are there; without them drift is not looked at. */
  readonly destination?: KnownDestination | undefined;
  readonly env: Env;
  readonly clock: Date;
  readonly signal: AbortSignal;
}

/** No part of the row is opened: columns of the destination are changed in memory only. */
export async function traceStages(options: TraceOptions): Promise<SampleTrace> {
  const stages: StageTrace[] = [];
  const types = await describedTypes(options.row, {
    env: options.env,
    source: options.schema,
  });
  let records: readonly JsonValue[] = copyRecords(options.records);
  let error: string | undefined;
  let arriving: Arriving = { columns: [], drift: undefined };
  try {
    const onArrival = (found: Arriving): void => void (arriving = found);
    for await (const trace of stepThrough(options, onArrival)) {
      stages.push(trace);
      records = trace.after;
    }
  } catch (failure) {
    error = options.env.redactor.text(messageOf(failure));
  }
  const output = error === undefined ? records : [];
  return hidden({ types, input: options.records, stages, output, ...arriving, error }, options);
}

type Arriving = Pick<SampleTrace, 'columns' | 'drift'>;

/** `onArrival` is told what comes to the destination, before `schema` looks at it. */
async function* stepThrough(
  options: TraceOptions,
  onArrival: (found: Arriving) => void,
): AsyncGenerator<StageTrace> {
  const { plan, row, env, signal } = options;
  let page = Page.ofRecords(copyRecords(options.records), { schema: options.schema });
  const tokens: RuntimeTokens = { now: { date: options.clock, zone: 'UTC' }, records: new Map() };
  for (const transform of resolvedTransforms(row.transforms, tokens)) {
    const before = copyRecords(page.records());
    const chain = await compileTransforms([transform], env);
    try {
      const { page: next, filtered, expanded, diverted } = await chain.run(page, signal);
      page = next;
      yield {
        stage: `transform ${transform.type}`,
        before,
        after: copyRecords(next.records()),
        filtered,
        expanded,
        dead: diverted.map(({ error, record }) => ({
          reason: 'transform',
          message: error.message,
          record,
        })),
      };
    } finally {
      await chain.close();
    }
  }
  const dead: DeadRecord[] = [];
  const work = new PageInWork(page, dead);
  const context = {
    env,
    pipeline: plan.name,
    row: row.id,
    sinkPreset: row.sink.preset,
    sinkType: row.sink.type,
  };
  for (const stage of stagesOf(context, { ...governanceOf(row), schema: undefined }))
    yield await stepOf(stage, work);
  onArrival(arrivingOf(work, options));
  const drifts = driftStageOf(options, context);
  if (drifts !== undefined) yield await stepOf(drifts, work);
}

async function stepOf(stage: Stage, work: PageInWork): Promise<StageTrace> {
  const before = copyRecords(work.records);
  const from = work.dead.length;
  await stage.run(work);
  const dead = work.dead
    .slice(from)
    .map(({ reason, message, payload }) => ({ reason, message, record: payload }));
  const after = copyRecords(work.records);
  return { stage: stage.name, before, after, filtered: 0, expanded: 0, dead };
}

function arrivingOf(work: PageInWork, { row, destination }: TraceOptions): Arriving {
  const columns = columnsOf(work.records, work.schema);
  if (destination === undefined || columns.length === 0) return { columns, drift: undefined };
  const policy = governanceOf(row).schema;
  const { drift } = comparePage(
    { records: work.records, schema: work.schema, columns },
    {
      destination: destination.columns,
      ignoresCase: destination.ignoresCase,
      allowWidening: policy?.allow_type_widening ?? true,
      supplied: suppliedColumns(row),
      addsSupplied: policy?.on_drift === 'evolve',
    },
  );
  return { columns, drift };
}

/** The stage of a run, over columns that are changed in memory. */
function driftStageOf(
  { row, destination }: TraceOptions,
  context: StageContext,
): Stage | undefined {
  const { schema: policy } = governanceOf(row);
  if (destination === undefined || policy === undefined) return undefined;
  const { ignoresCase, canEvolve } = destination;
  let { columns } = destination;
  const schema: SchemaAccess = {
    ignoresCase,
    current: () => Promise.resolve(columns),
    ...(canEvolve
      ? {
          evolve: (change: ColumnChange) => {
            const added = change.add.map(({ name, type }) => ({
              name,
              types: [type],
              nullable: true,
            }));
            columns = [...changed(columns, change), ...added];
            return Promise.resolve();
          },
        }
      : {}),
  };
  return createSchemaDriftStage(policy, context, { schema, supplied: suppliedColumns(row) });
}

/**
 * What masking hides in the end must not be seen in what came before either: neither in fields that
 * were called otherwise then, nor in records that never came as far as masking.
 */
function hidden(trace: SampleTrace, { row }: TraceOptions): SampleTrace {
  const { masking } = governanceOf(row);
  if (masking === undefined) return trace;
  const masker = createMasker(
    maskingRulesFor(masking, { preset: row.sink.preset, type: row.sink.type }),
    masking.key,
  );
  const mask: HideRecord = (record) => masker.record(record, () => {});
  const { record: hideKnown, text } = hideValues(
    mask,
    trace.stages.find(({ stage }) => stage === 'masking')?.before ?? [],
  );
  const hiders = row.transforms.map((_, index) => hiderBefore(index, { trace, row, mask }));
  const shown = (records: readonly JsonValue[], stage: number): readonly JsonValue[] => {
    const hide = hiders[stage] ?? mask;
    return records.map((record) => hideKnown(hide(record)));
  };
  const isMasked = (index: number): boolean => index > row.transforms.length;
  return {
    input: shown(trace.input, 0),
    stages: trace.stages.map((one, index) =>
      isMasked(index)
        ? one
        : {
            ...one,
            before: shown(one.before, index),
            after: index === row.transforms.length ? one.after : shown(one.after, index + 1),
            dead: one.dead.map((dead) => ({
              ...dead,
              record: hideKnown((hiders[index] ?? mask)(dead.record)),
              // The reason may quote a value.
              message: hideValues(hiders[index] ?? mask, [dead.record]).text(text(dead.message)),
            })),
          },
    ),
    output: trace.output,
    columns: trace.columns,
    drift: trace.drift,
    types: trace.types,
    error: trace.error === undefined ? undefined : text(trace.error),
  };
}

interface Hiding {
  readonly trace: SampleTrace;
  readonly row: PlannedRow;
  readonly mask: HideRecord;
}

/**
 * For records as the transform of this index gets them. Where names are lost on the way, so is what
 * can be said of records left behind.
 */
function hiderBefore(index: number, { trace, row, mask }: Hiding): HideRecord {
  const names = new Map<string, string>();
  let isOpaque = false;
  for (const { definition, judged, parsed } of row.transforms.slice(index)) {
    const config = parsed ?? judged;
    const flow = config === undefined ? { kind: 'opaque' as const } : definition.columns(config);
    if (flow.kind === 'opaque') isOpaque = true;
    if (flow.kind !== 'rename') continue;
    for (const [name, later] of names) names.set(name, flow.fields[later] ?? later);
    for (const [name, later] of Object.entries(flow.fields))
      if (!names.has(name)) names.set(name, later);
  }
  const later = trace.stages.slice(index, row.transforms.length);
  const someLeft = trace.error !== undefined || later.some(({ filtered }) => filtered > 0);
  return isOpaque && someLeft ? hideAll : maskRenamed(mask, names);
}

/** The stages may change records in place. */
function copyRecords(records: readonly JsonValue[]): JsonValue[] {
  return records.map((record) => copyJson(record));
}
