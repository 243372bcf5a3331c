/** What the server and its worker processes say to each other (structured clone). */
import type { Job, JobEnd, StopCause } from '../../wire/job.ts';
import type { RunEvent } from '../../wire/run-event.ts';

export type ToWorker =
  /** Executed one after the other, behind those that it has. */
  | { readonly type: 'jobs'; readonly jobs: readonly Job[] }
  /** Others do the jobs that it has not begun, except for one, which it may not have begun either. */
  | { readonly type: 'drop'; readonly except: string }
  /** Is about the job that it executes. */
  | { readonly type: 'stop'; readonly why: StopCause }
  /** A batch whose acknowledgement was awaited was taken; the worker may send the next. */
  | { readonly type: 'ack' }
  /** Answers a question of this job. */
  | {
      readonly type: 'owner';
      readonly id: string;
      readonly question: number;
      readonly isOwned: boolean;
    }
  /** No more jobs: end. */
  | { readonly type: 'exit' };

/** Gathered events of a job. */
export type Batch = readonly RunEvent[];

export type FromWorker =
  | { readonly type: 'ready' }
  /** At most one awaited batch is on the way, so that a slow server is never flooded. */
  | {
      readonly type: 'batch';
      readonly id: string;
      readonly batch: Batch;
      readonly isAwaited: boolean;
    }
  /**
   * Sent before the next job is begun, so that it is always known which job a worker is at; `rest`:
   * the last events of the job; `idleMs`: how long the worker had nothing to do meanwhile.
   */
  | {
      readonly type: 'done';
      readonly id: string;
      readonly end: JobEnd;
      readonly rest: Batch;
      readonly idleMs: number;
    }
  /** It has answered those of the dropped jobs that it had begun. */
  | { readonly type: 'dropped' }
  /** The worker cannot go on and ends itself; the sentence is redacted. */
  | { readonly type: 'broken'; readonly reason: string };
