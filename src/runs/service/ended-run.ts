import type { Plan } from '../../plan/plan.ts';
import type { RunOutcome } from '../../wire/outcome.ts';

/** A run that has ended, wherever it executed. */
export interface EndedRun {
  readonly runId: string;
  readonly plan: Plan;
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** RFC 3339, UTC; null when it never began. */
  readonly startedAt: string | null;
  readonly finishedAt: string;
  /** Why it failed, as its record says; redacted. */
  readonly error: string | null;
  /** Undefined when whoever executed it died. */
  readonly outcome: RunOutcome | undefined;
}

/** Is told of the runs of an instance that have ended and are recorded. */
export interface EndListener {
  /**
   * Whether to tell it of runs of this plan: only of those the plan is held, which takes much more
   * than the rest of a waiting run.
   */
  wants(plan: Plan): boolean;
  /** Returns at once: what it does about it goes on in the background. */
  ended(run: EndedRun): void;
  /** Resolves when nothing is underway, or the signal fires. */
  settle(signal: AbortSignal): Promise<void>;
}
