/**
 * Everything that is told about a job while it executes and when it has ended. Its worker sends
 * events, the server hands them to its listeners unopened.
 */
import type { LogLine } from '../lib/log.ts';
import type { MetricChange, MetricDefinition } from '../lib/metrics/metrics.ts';
import type { Movement } from './catalog.ts';
import type { DoctorEvent } from './doctor.ts';
import type { OutputNews, Progress, RunOutcome } from './outcome.ts';
import type { Shard } from './shards.ts';
import type { NotifiedPlan } from './plan-summary.ts';

export type RunEvent =
  /** A worker has the job: its time counts from now. */
  | { readonly kind: 'begun' }
  /** The document was planned, and says who is told of the end. */
  | { readonly kind: 'planned'; readonly notified: NotifiedPlan }
  /** The document holds credentials as they are, so its text is not kept. */
  | { readonly kind: 'credentials' }
  | { readonly kind: 'log'; readonly lines: readonly LogLine[] }
  /** `definitions`: those that the worker uses for the first time. */
  | {
      readonly kind: 'metrics';
      readonly changes: readonly MetricChange[];
      readonly definitions: readonly MetricDefinition[];
    }
  | { readonly kind: 'progress'; readonly progress: Progress }
  /** Files of this machine that it writes from now on. */
  | { readonly kind: 'opened'; readonly news: OutputNews }
  /** What it moved, for the catalog; just before its end. */
  | { readonly kind: 'moved'; readonly movements: readonly Movement[] }
  /** How far the probes of a document have come. */
  | { readonly kind: 'probed'; readonly event: DoctorEvent }
  /** It is to be executed in these parts, by whichever servers are free. Passed to no listener. */
  | { readonly kind: 'sharded'; readonly shards: readonly Shard[] }
  /** Asks whether the run is still its own. Answered by its server, and passed to no listener. */
  | { readonly kind: 'asks_owner'; readonly question: number }
  /** Its worker is gone; nothing more comes from it. */
  | { readonly kind: 'crashed'; readonly reason: string }
  /** The end of a run is on record. The server says this, because a worker may die. */
  | { readonly kind: 'ended'; readonly end: RunEnding };

export interface RunEnding {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** RFC 3339, UTC; null when it never began. */
  readonly started_at: string | null;
  readonly finished_at: string;
  /** Why it failed, as its record says; redacted. */
  readonly error: string | null;
  /** Null when whoever executed it died. */
  readonly outcome: RunOutcome | null;
}

/** Names the run that an event is about. */
export interface RunIdentity {
  readonly run_id: string;
  readonly name: string;
  /** Pipeline to which its measurements are added, in place of `name`. */
  readonly measured_as: string | null;
  /** Number of the first line of its log; 0 when absent. Executions before it used those below. */
  readonly first_line?: number;
  /** Present where other servers may take it over: who executes it, and after how many losses. */
  readonly execution?: { readonly owner: string; readonly attempt: number };
  /** Present when it is a shard: its log is part of that of the run. */
  readonly part_of?: { readonly run_id: string; readonly index: number };
}
