import type { Job, JobEnd, JobKind, StopCause } from '../../wire/job.ts';
import type { HearEvent, JobHandle, WorkAhead } from './executor.ts';

/** What a job needs to know of the worker that has it. */
export interface JobHolder {
  stop(job: PoolJob, why: StopCause, graceMs: number): void;
  giveWay(job: PoolJob): void;
  answerOwner(job: PoolJob, question: number, isOwned: boolean): void;
}

/** A job on its way through the pool. */
export class PoolJob implements JobHandle {
  readonly job: Job;
  readonly hear: HearEvent;
  /** Absent: its worker has no other job. */
  readonly ahead: WorkAhead | undefined;
  readonly done: Promise<JobEnd>;
  readonly #since = performance.now();
  readonly #onStopWaiting: (job: PoolJob) => void;
  #settle: (end: JobEnd) => void = () => {};
  #isSettled = false;
  #worker: JobHolder | undefined;

  constructor(
    job: Job,
    { hear, ahead }: { readonly hear: HearEvent; readonly ahead: WorkAhead | undefined },
    onStopWaiting: (job: PoolJob) => void,
  ) {
    this.job = job;
    this.hear = hear;
    this.ahead = ahead;
    this.#onStopWaiting = onStopWaiting;
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get kind(): JobKind {
    return this.job.request.kind;
  }

  get ageMs(): number {
    return performance.now() - this.#since;
  }

  /** Nobody waits for it, though its worker may still execute it. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The worker that has it from now on; undefined: it waits. */
  assign(worker: JobHolder | undefined): void {
    this.#worker = worker;
  }

  stop(why: StopCause, graceMs: number): void {
    if (this.#worker !== undefined) {
      this.#worker.stop(this, why, graceMs);
      return;
    }
    this.#onStopWaiting(this);
    this.settleUnbegun();
  }

  giveWay(): void {
    this.#worker?.giveWay(this);
  }

  answerOwner(question: number, isOwned: boolean): void {
    this.#worker?.answerOwner(this, question, isOwned);
  }

  settle(end: JobEnd): void {
    this.#isSettled = true;
    this.#settle(end);
  }

  settleUnbegun(): void {
    this.settle({ type: 'crashed', reason: 'it had not started yet', why: 'stopped' });
  }
}
