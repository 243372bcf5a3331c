/** Who is told what a run does. Observers see everything and change nothing: what fails in one is logged, and the run goes on. */
import type { Plan, RowPlan } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import type { InvocationOutcome, RunOutcome } from '../../wire/outcome.ts';

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

/** One observer is told one thing at a time, in the order in which things happened; a run waits for it only at its end. */
export interface RunObserver {
  /** For the log. */
  readonly name: string;
  runStarted?(run: ObservedRun): void | Promise<void>;
  rowStarted?(row: ObservedRow): void | Promise<void>;
  /** Only for invocations that had started; `runEnded` tells of all. */
  rowEnded?(row: ObservedRow, outcome: InvocationOutcome): void | Promise<void>;
  /** The last thing it is told. */
  runEnded?(outcome: RunOutcome): void | Promise<void>;
}
