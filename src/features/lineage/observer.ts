/** Tells a collector what the rows of a run read and write. */
import type { LineageEventKind } from '../../blocks/lineage/schema.ts';
import { columnOriginsOf } from '../../engine/observe/column-origins.ts';
import {
  datasetsOf,
  type ObservedDataset,
  type RowDatasets,
} from '../../engine/observe/datasets.ts';
import type { ObservedRow, ObservedRun, RunObserver } from '../../engine/observe/observer.ts';
import type { RecordShape, RowShapes } from '../../engine/observe/samples.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { Outages } from '../../lib/outages.ts';
import { programVersion } from '../../lib/version.ts';
import type { LineagePlan } from '../../blocks/lineage/plan.ts';
import type { InvocationOutcome } from '../../wire/outcome.ts';
import { lineageEvent, type EventDataset, type EventFacts, type EventType } from './event.ts';
import { jobName } from './job-name.ts';
import { lineageDropped } from './metrics.ts';
import { EventSender } from './sender.ts';
import { sourceCodeOf } from './source-code.ts';
import type { Transport } from './transport.ts';
import { transportOf } from './transport-of.ts';

const TYPES: Readonly<Record<LineageEventKind, EventType>> = {
  start: 'START',
  running: 'RUNNING',
  complete: 'COMPLETE',
  abort: 'ABORT',
  fail: 'FAIL',
};

/** How an invocation ended; one that was skipped never started. */
const ENDINGS: Readonly<Record<InvocationOutcome['status'], LineageEventKind>> = {
  completed: 'complete',
  failed: 'fail',
  cancelled: 'abort',
  skipped: 'abort',
};

export function createLineageObserver(plan: LineagePlan, env: Env, outages: Outages): RunObserver {
  return new LineageObserver(plan, env, transportOf(plan.spec.transport, env, outages));
}

interface Ending {
  readonly outcome: InvocationOutcome;
  readonly shapes: RowShapes | undefined;
}

class LineageObserver implements RunObserver {
  readonly name = 'lineage';
  readonly sampleRecords: number;
  readonly heartbeatMs?: number;
  readonly #plan: LineagePlan;
  readonly #env: Env;
  readonly #sender: EventSender;
  readonly #producer = `urn:headgate:${programVersion()}`;
  #run: ObservedRun | undefined;
  #sourceCode: string | undefined;

  constructor(plan: LineagePlan, env: Env, transport: Transport) {
    const { include_schema_facet: schema, include_column_lineage: columns, ...spec } = plan.spec;
    this.#plan = plan;
    this.#env = { ...env, log: env.log.at('headgate::lineage') };
    this.sampleRecords = schema || columns ? spec.sample_records : 0;
    if (spec.emit_on.running) this.heartbeatMs = spec.heartbeat_interval * 1000;
    this.#sender = new EventSender(transport, this.#env);
  }

  runStarted(run: ObservedRun): void {
    this.#run = run;
    const { document } = this.#plan;
    if (document !== undefined) this.#sourceCode = sourceCodeOf(document, this.#env.redactor);
  }

  rowStarted(row: ObservedRow): void {
    this.#emit('start', row);
  }

  rowRuns(row: ObservedRow): void {
    this.#emit('running', row);
  }

  rowEnded(row: ObservedRow, outcome: InvocationOutcome, shapes: RowShapes | undefined): void {
    this.#emit(ENDINGS[outcome.status], row, { outcome, shapes });
  }

  runEnded(): Promise<void> {
    return this.#sender.settle();
  }

  #emit(kind: LineageEventKind, row: ObservedRow, ending?: Ending): void {
    const run = this.#run;
    if (run === undefined || run.dryRun) return;
    if (!this.#plan.spec.emit_on[kind]) {
      this.#env.metrics.inc(lineageDropped, { reason: 'disabled' });
      return;
    }
    const render = (): string =>
      stringifyJson(lineageEvent(this.#facts(kind, { run, row, ending })));
    this.#sender.push(row.invocationId, { kind, render });
  }

  #facts(
    kind: LineageEventKind,
    about: { run: ObservedRun; row: ObservedRow; ending: Ending | undefined },
  ): EventFacts {
    const { run, row, ending } = about;
    const { spec } = this.#plan;
    const { inputs, output } = this.#datasets(run, row);
    const naming = {
      name: run.plan.name,
      rowId: row.row.id,
      now: row.tokens.now,
      isGraph: run.plan.topology !== undefined,
    };
    const endedAt = ending === undefined ? undefined : new Date(ending.outcome.finished_at);
    const shapes = ending?.shapes;
    const parent = spec.parent_job;
    const origins = inputs.length === 1 ? this.#origins(run, row, shapes) : undefined;
    const wasRead = (id: string): RecordShape | undefined => shapes?.read.get(id);
    return {
      type: TYPES[kind],
      time: endedAt ?? row.startedAt,
      producer: this.#producer,
      namespace: spec.namespace,
      runId: row.invocationId,
      job: jobName(spec.job_name, naming),
      startedAt: row.startedAt,
      ...(endedAt === undefined ? {} : { endedAt }),
      ...(parent === undefined
        ? {}
        : {
            parent: {
              namespace: parent.namespace,
              name: parent.name,
              runId: parent.run_id ?? run.runId,
            },
          }),
      ...(this.#sourceCode === undefined ? {} : { sourceCode: this.#sourceCode }),
      inputs: inputs.flatMap((input) => this.#eventDataset(input, wasRead(input.id)) ?? []),
      ...only(
        'output',
        output === undefined ? undefined : this.#eventDataset(output, shapes?.written),
      ),
      ...only('origins', origins),
    };
  }

  #origins(
    run: ObservedRun,
    row: ObservedRow,
    shapes: RowShapes | undefined,
  ): EventFacts['origins'] {
    const { include_column_lineage: isWanted, sample_records: records } = this.#plan.spec;
    return isWanted && records > 0 && shapes !== undefined
      ? columnOriginsOf(row.row, run.plan, shapes)
      : undefined;
  }

  #eventDataset(
    { uri }: ObservedDataset,
    shape: RecordShape | undefined,
  ): EventDataset | undefined {
    const { include_schema_facet: isWanted, sample_records: records } = this.#plan.spec;
    if (uri === undefined) return undefined;
    return { uri, ...only('shape', isWanted && records > 0 ? shape : undefined) };
  }

  /** A config that could not be completed names no data set; its row fails with the reason. */
  #datasets(
    { plan }: ObservedRun,
    { row, tokens }: ObservedRow,
  ): Partial<RowDatasets> & Pick<RowDatasets, 'inputs'> {
    try {
      return datasetsOf(row, { plan, tokens, env: this.#env });
    } catch (error) {
      this.#env.log.debug('the data sets of a row cannot be named', {
        row: row.id,
        error: messageOf(error),
      });
      return { inputs: [] };
    }
  }
}

function only<K extends string, T>(key: K, value: T | undefined): { readonly [key in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in K]?: T });
}
