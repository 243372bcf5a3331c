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
  /** Answers `asks_owner`. */
  answerOwner(question: number, isOwned: boolean): void;
  /** It takes long: jobs that wait behind it are given to another worker. */
  giveWay(): void;
}

/** A worker may be given several jobs of one kind, so that it need not wait for the next. */
export interface WorkAhead {
  /** That it has at most, the one that it executes included. */
  readonly jobs: number;
  /** That have jobs of this kind at the same time. */
  readonly workers: number;
}

export interface JobExecutor {
  /** With `ahead` only jobs that may be given to another worker before one has begun them. */
  start(job: Job, hear: HearEvent, ahead?: WorkAhead): JobHandle;
  /** Ends idle workers and kills what is left. */
  close(): Promise<void>;
}
