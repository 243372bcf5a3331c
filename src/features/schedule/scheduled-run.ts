import type { Clock } from '../../lib/time/clock.ts';
import { messageOf, StopReason } from '../../lib/errors.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { Job } from './job.ts';

/** Grace period of a run that was asked to stop; then it is killed. */
const FLUSH_MS = 5000;

export interface Ended {
  /** Nothing was to be run after all. */
  readonly isSkipped?: true;
  /** What is wrong with it; `undefined` for a success. */
  readonly failure: string | undefined;
  /** `undefined` when the run could not even begin. */
  readonly outcome: RunOutcome | undefined;
  /** How long its destination wants to be left alone. */
  readonly cooldownMs: number;
  readonly durationMs: number;
}

export interface RunHow {
  /** Somebody asked for it; it is no run of the schedule. */
  readonly isManual?: boolean;
  readonly onAccepted?: () => void;
}

/** One run of the document, from its tick to its end. */
export class ScheduledRun {
  readonly tick: Date;
  readonly isManual: boolean;
  /** It is stored: also the next process knows of it. */
  isAccepted = false;
  /** Never rejects. */
  readonly ended: Promise<Ended>;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  /** Fires when the run has ended, which ends its grace period. */
  readonly #over = new AbortController();
  #why: StopReason | undefined;

  constructor(job: Job, tick: Date, clock: Clock, { isManual = false, onAccepted }: RunHow = {}) {
    this.tick = tick;
    this.isManual = isManual;
    this.#clock = clock;
    this.ended = this.#follow(job, () => {
      this.isAccepted = true;
      onAccepted?.();
    });
    const { run_timeout_secs: limit } = job.spec;
    if (limit !== undefined)
      void this.#stopAfter(
        limit * 1000,
        new StopReason('timeout', `the run took longer than ${limit} s`),
      );
  }

  /** Gives the run its grace period, then stops it. Resolves when it has ended. */
  async drain(graceMs: number): Promise<void> {
    void this.#stopAfter(graceMs, new StopReason('shutdown', 'the scheduler is ending'));
    await this.ended;
  }

  async #follow(job: Job, onAccepted: () => void): Promise<Ended> {
    const from = this.#clock.elapsedMs();
    const end = await this.#attempt(job, onAccepted);
    this.#over.abort();
    return { ...end, durationMs: Math.round(this.#clock.elapsedMs() - from) };
  }

  async #attempt(job: Job, onAccepted: () => void): Promise<Omit<Ended, 'durationMs'>> {
    try {
      const signals = { stop: this.#stop.signal, kill: this.#kill.signal };
      const outcome = await job.run(this.tick, signals, onAccepted);
      if (outcome === undefined)
        return { isSkipped: true, failure: undefined, outcome, cooldownMs: 0 };
      const failure =
        outcome.status === 'completed'
          ? undefined
          : (this.#why?.message ?? outcome.error?.message ?? 'the run was stopped');
      return { failure, outcome, cooldownMs: job.cooldownMs(outcome) };
    } catch (error) {
      return { failure: messageOf(error), outcome: undefined, cooldownMs: 0 };
    }
  }

  async #stopAfter(ms: number, why: StopReason): Promise<void> {
    const { signal } = this.#over;
    await this.#clock.sleep(ms, signal);
    if (signal.aborted) return;
    this.#why ??= why;
    this.#stop.abort(this.#why);
    await this.#clock.sleep(FLUSH_MS, signal);
    if (!signal.aborted)
      this.#kill.abort(new StopReason('kill', `${this.#why.message}, and did not stop in time`));
  }
}
