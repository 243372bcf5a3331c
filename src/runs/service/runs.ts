/**
 * The run service as routes, triggers, backfills and the demo see it. Everything that starts work
 * ends in `submit`.
 */
import type { PlanSummary } from '../../wire/plan-summary.ts';
import type { Bound, StoredSubmissionContent } from '../../wire/submission.ts';
import type { ClusterStatus } from '../../wire/cluster.ts';
import type { RunStatus } from '../../wire/run-status.ts';
import type {
  RunPage,
  RunRecord,
  StoredLogLine,
  Submission,
  SubmissionReceipt,
} from '../../wire/run.ts';
import type { BaseDocument } from './prepared.ts';

/** Who asks; written to the audit log. */
export interface Caller {
  readonly principal: string;
  readonly role: 'viewer' | 'operator' | 'admin';
  readonly sourceIp?: string;
}

/** Something that was done by submitting a run. */
export interface SubmittingAction {
  readonly action: string;
  readonly caller: Caller;
}

/** What a submission from outside cannot ask for. */
export interface How {
  /** Values for the parameters of the document, and variables that it sees first. */
  readonly bound?: Bound & {
    /**
     * Parameters that hold secrets. Their values are not stored, nor are those of variables: such a
     * run cannot be taken over by another server.
     */
    readonly secretParams: readonly string[];
  };
  /**
   * The default document that it is merged over, null for none; by default that of the server as it
   * is now.
   */
  readonly base?: BaseDocument | null;
  /** The time zone in which `${now.*}` renders its clock; by default UTC. */
  readonly zone?: string;
  /** What the audit log says of it besides `run.submit`, stored together with the run. */
  readonly actions?: readonly SubmittingAction[];
  /** Hears what the document was planned as, before the run is stored. */
  readonly onPrepared?: (summary: PlanSummary) => void;
  /** Hears whether the submission made a run, or its idempotency key already had one. */
  readonly onAdmitted?: (admission: 'new' | 'repeated') => void;
  /**
   * Sources begin at the beginning, whatever positions an earlier run of the same name has stored.
   */
  readonly anew?: true;
  /**
   * Pipeline to which what it measures is added, in place of its own name: names that do not come
   * again would make series without end.
   */
  readonly measuredAs?: string;
}

export interface RunQuery {
  readonly status?: readonly RunStatus[];
  readonly name?: string;
  /** Inclusive bounds on `submitted_at`. */
  readonly since?: Date;
  readonly until?: Date;
  /** 1 to 500. */
  readonly limit: number;
  /** Last run id of the page before; unknown means the first page. */
  readonly cursor?: string;
}

/** What a live reader of a run's log gets. After `end` nothing comes. */
export type LogEvent =
  | { readonly type: 'log'; readonly seq: number; readonly line: string }
  | { readonly type: 'truncated'; readonly dropped: number }
  | { readonly type: 'end'; readonly seq?: number };

export interface StoredLog {
  readonly lines: readonly StoredLogLine[];
  /** Lines beyond the per-run cap were dropped. */
  readonly truncated: boolean;
}

/**
 * Methods reject with `RefusedError` (404, 409, 422, 429, 503) or `ConfigError` (400 or 422 by its
 * stage); the server turns both into envelopes.
 */
export interface Readiness {
  readonly historyOk: boolean;
  readonly queueOk: boolean;
  readonly draining: boolean;
  readonly instances: number;
}

/** A run with what is needed to execute it again. */
export interface SubmittedRun {
  readonly record: RunRecord;
  readonly content: StoredSubmissionContent;
  readonly base: BaseDocument | undefined;
}

export interface Runs {
  /** Validates, interpolates, claims the key, stores; resolves when the record is durable. */
  submit(submission: Submission, caller: Caller, how?: How): Promise<SubmissionReceipt>;
  get(runId: string): Promise<RunRecord>;
  /** What a run was submitted as. 422 when that is not stored (any more). */
  submitted(runId: string): Promise<SubmittedRun>;
  list(query: RunQuery): Promise<RunPage>;
  /** `requested` (202) or, when already terminal, `noop` (200). */
  cancel(runId: string, caller: Caller): Promise<'requested' | 'noop'>;
  /** Terminal runs only. */
  delete(runId: string, caller: Caller): Promise<void>;
  /**
   * Replays the ring, then follows; ends with `end`. A known run without a ring gives a single
   * `end`.
   */
  followLog(runId: string, signal: AbortSignal): Promise<AsyncIterable<LogEvent>>;
  /** What comes behind the event of that number; undefined after the end, or without a ring. */
  continueLog(
    runId: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogEvent> | undefined>;
  /** Persisted lines with `seq > after`. Empty for a memory history or with log retention 0. */
  readLog(
    runId: string,
    range: { readonly after: number | undefined; readonly limit: number },
  ): Promise<StoredLog>;
  /** Asks the history whether it can be written. */
  readiness(): Promise<Readiness>;
  /** The servers that share the queue. */
  clusterStatus(): Promise<ClusterStatus>;
  /**
   * Stops taking work, waits for running and queued runs up to the grace, then cancels (failed,
   * `server_shutdown`).
   */
  drain(graceMs: number): Promise<void>;
}
