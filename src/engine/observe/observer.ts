/**
 * Who is told what a run does. Observers see everything and change nothing: what fails in one is
 * logged, and the run goes on.
 */
import type { Plan, RowPlan } from '../../plan/plan.ts';
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
  /** Fires when the run is to stop; its reason says why. */
  readonly signal: AbortSignal;
}

/**
 * Whether the run moves all there is and is told of as a whole: not when it only tries, and not
 * when it is cut into shards.
 */
export function isWholeRun({ plan, dryRun, limit }: ObservedRun): boolean {
  return !dryRun && limit === undefined && plan.rows.every(({ shard }) => shard === undefined);
}

/** An invocation as it starts. */
export interface ObservedRow {
  readonly invocationId: string;
  /** As its outcome calls it. */
  readonly name: string;
  readonly row: RowPlan;
  /** With these the configs of its parts are completed. */
  readonly tokens: RuntimeTokens;
  readonly startedAt: Date;
}

/**
 * One observer is told one thing at a time, in the order in which things happened; a run waits for
 * it only at its end.
 */
export interface RunObserver {
  /** For the log. */
  readonly name: string;
  /**
   * How many records of each invocation are looked at for it, so that it can be told what they look
   * like; none when absent.
   */
  readonly sampleRecords?: number;
  /** How often it is told that a row is still running; never when absent. */
  readonly heartbeatMs?: number;
  runStarted?(run: ObservedRun): void | Promise<void>;
  rowStarted?(row: ObservedRow): void | Promise<void>;
  /** Left out while it is still busy with what it was told before. */
  rowRuns?(row: ObservedRow): void | Promise<void>;
  /**
   * Files of this machine that its sink has opened since it was last told, as soon as a page is in
   * them; the outcome tells of all.
   */
  filesOpened?(row: ObservedRow, opened: WrittenFiles): void | Promise<void>;
  /** Only for invocations that had started; `runEnded` tells of all. */
  rowEnded?(
    row: ObservedRow,
    outcome: InvocationOutcome,
    shapes: RowShapes | undefined,
  ): void | Promise<void>;
  /** The last thing it is told; with what the source nodes of a graph read, by node. */
  runEnded?(outcome: RunOutcome, read: ReadonlyMap<string, RecordShape>): void | Promise<void>;
}
