/**
 * A run as a trace: a span for the run, one for each invocation, and below it what its pages cost.
 * The last are made of durations the engine measures anyway, so that nothing is measured twice.
 */
import {
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import {
  sinkFlushDuration,
  sinkWriteDuration,
  sourcePageDuration,
  stateGetDuration,
  statePutDuration,
  transformDuration,
} from '../../engine/metrics.ts';
import type { ObservedRow, ObservedRun, RunObserver } from '../../engine/observe/observer.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  noMetrics,
  type Labels,
  type MetricDefinition,
  type Metrics,
} from '../../lib/metrics/metrics.ts';
import type { InvocationOutcome, OutcomeError, RunOutcome } from '../../wire/outcome.ts';

const STEPS: ReadonlyMap<string, string> = new Map([
  [sourcePageDuration.name, 'page fetch'],
  [transformDuration.name, 'transform'],
  [sinkWriteDuration.name, 'write'],
  [sinkFlushDuration.name, 'flush'],
  [stateGetDuration.name, 'state'],
  [statePutDuration.name, 'state'],
]);

interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
}

/** Receives events of the run and its metrics. */
export class RunSpans implements RunObserver {
  readonly name = 'traces';
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  #run: OpenSpan | undefined;
  #runId = '';
  readonly #rows = new Map<string, OpenSpan>();
  /** Invocations that are open, by row: a step belongs to one only when there is no other. */
  readonly #ofRow = new Map<string, Set<OpenSpan>>();

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  runStarted({ plan, runId, startedAt }: ObservedRun): void {
    this.#runId = runId;
    this.#run = this.#open('run', ROOT_CONTEXT, startedAt, { pipeline: plan.name, run_id: runId });
  }

  rowStarted({ invocationId, name, row, startedAt }: ObservedRow): void {
    const attributes = {
      row: row.id,
      run_id: this.#runId,
      invocation_id: invocationId,
      source: row.source.type,
      sink: row.sink.type,
    };
    const opened = this.#open(
      `row ${name}`,
      this.#run?.context ?? ROOT_CONTEXT,
      startedAt,
      attributes,
    );
    this.#rows.set(invocationId, opened);
    const siblings = this.#ofRow.get(row.id) ?? new Set();
    this.#ofRow.set(row.id, siblings.add(opened));
  }

  rowEnded(
    { invocationId, row }: ObservedRow,
    { balance, error, finished_at: at }: InvocationOutcome,
  ): void {
    const opened = this.#rows.get(invocationId);
    if (opened === undefined) return;
    this.#rows.delete(invocationId);
    this.#ofRow.get(row.id)?.delete(opened);
    opened.span.setAttributes({
      records_read: balance.read,
      records_written: balance.written,
      records_dead_lettered: balance.dead_lettered,
    });
    close(opened, error, at);
  }

  runEnded({ error, finished_at: at, records_written: written }: RunOutcome): void {
    if (this.#run === undefined) return;
    this.#run.span.setAttributes({ records_written: written });
    close(this.#run, error, at);
  }

  /** Sees durations pass. */
  readonly metrics: Metrics = {
    ...noMetrics,
    observe: (definition, labels, value) => this.#step(definition, labels, value),
  };

  #step({ name }: MetricDefinition, labels: Labels, seconds: number): void {
    const step = STEPS.get(name);
    if (step === undefined) return;
    const now = this.#clock.now().getTime();
    const startTime = new Date(now - seconds * 1000);
    this.#tracer
      .startSpan(
        step,
        { startTime, attributes: { ...labels, run_id: this.#runId } },
        this.#above(labels['row']),
      )
      .end(new Date(now));
  }

  #above(row: string | number | undefined): Context {
    const [only, other] = this.#ofRow.get(String(row)) ?? [];
    return (other === undefined ? only : undefined)?.context ?? this.#run?.context ?? ROOT_CONTEXT;
  }

  #open(
    name: string,
    above: Context,
    startTime: Date,
    attributes: Record<string, string>,
  ): OpenSpan {
    const span = this.#tracer.startSpan(name, { startTime, attributes }, above);
    return { span, context: trace.setSpan(above, span) };
  }
}

function close({ span }: OpenSpan, error: OutcomeError | null, at: string): void {
  if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  span.end(new Date(at));
}
