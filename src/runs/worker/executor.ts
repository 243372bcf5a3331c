/**
 * Who executes jobs. One implementation now: the workers of this instance
 * (`worker-pool.ts`); a durable engine on a shared database joins behind the same interface.
 */
import type { Job, JobEnd, StopCause } from '../../wire/job.ts';
import type { RunEvent } from '../../wire/run-event.ts';

/** Takes the events of a job in their order; returns at once. */
export type HearEvent = (event: RunEvent) => void;

export interface JobHandle {
  /** Never rejects. */
  readonly done: Promise<JobEnd>;
  /**
   * Cooperative: stop at the next page boundary, flush, end. A worker that does not answer within
   * the grace period is killed.
   */
  stop(why: StopCause, graceMs: number): void;
}

export interface JobExecutor {
  start(job: Job, hear: HearEvent): JobHandle;
  /** Ends idle workers and kills what is left. */
  close(): Promise<void>;
}
