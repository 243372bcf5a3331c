import type { RunOutcome } from '../../wire/outcome.ts';
import type { NotifiedPlan } from '../../wire/plan-summary.ts';

/** A run that has ended, wherever it executed. */
export interface EndedRun {
  readonly runId: string;
  readonly plan: NotifiedPlan;
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** RFC 3339, UTC; null when it never began. */
  readonly startedAt: string | null;
  readonly finishedAt: string;
  /** Why it failed, as its record says; redacted. */
  readonly error: string | null;
  /** Undefined when its worker died. */
  readonly outcome: RunOutcome | undefined;
}
