/**
 * Observers are notified of what a run does. They cannot change it: an error in one is logged, and
 * the run continues.
 */
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import type { InvocationOutcome, RunOutcome, WrittenFiles } from '../../wire/outcome.ts';
import type { RecordShape, RowShapes } from './samples.ts';

/** A run as it starts. */
export interface ObservedRun {
  readonly plan: Plan;
  readonly runId: string;
  readonly startedAt: Date;
  /** What `${now.*}` renders. */
  readonly clock: Date;
  readonly dryRun: boolean;
  /** Records a row writes at most. */
  readonly limit: number | undefined;
  /** Fires when the run has to stop; its reason says why. */
  readonly signal: AbortSignal;
}

/** Whether the run moves everything: no dry run, no limit, no shards. */
export function isWholeRun({ plan, dryRun, limit }: ObservedRun): boolean {
  return !dryRun && limit === undefined && plan.rows.every(({ shard }) => shard === undefined);
}

/** An invocation as it starts. */
export interface ObservedRow {
  readonly invocationId: string;
  /** As its outcome calls it. */
  readonly name: string;
  readonly row: PlannedRow;
  /** With these the configs of its parts are completed. */
  readonly tokens: RuntimeTokens;
  readonly startedAt: Date;
}

/**
 * Notifications of one observer are delivered one at a time and in order; a run waits for them only
 * at its end.
 */
export interface RunObserver {
  /** For the log. */
  readonly name: string;
  /** How many records of each invocation are sampled for their shape; none when absent. */
  readonly sampleRecords?: number;
  /** Milliseconds between two `rowRuns` of a row; none when absent. */
  readonly heartbeatMs?: number;
  runStarted?(run: ObservedRun): void | Promise<void>;
  rowStarted?(row: ObservedRow): void | Promise<void>;
  /** Skipped while an earlier notification is still being handled. */
  rowRuns?(row: ObservedRow): void | Promise<void>;
  /**
   * Local files that the sink has opened since the last notification, sent as soon as a page is in
   * them. The outcome names all files.
   */
  filesOpened?(row: ObservedRow, opened: WrittenFiles): void | Promise<void>;
  /** Only for invocations that have started; `runEnded` has all. */
  rowEnded?(
    row: ObservedRow,
    outcome: InvocationOutcome,
    shapes: RowShapes | undefined,
  ): void | Promise<void>;
  /**
   * The last notification. `read` is the shape of what the source nodes of a graph read, by node.
   */
  runEnded?(outcome: RunOutcome, read: ReadonlyMap<string, RecordShape>): void | Promise<void>;
}
