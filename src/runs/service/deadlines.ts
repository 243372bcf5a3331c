import type { Env } from '../../lib/env.ts';

/** What is to happen at a time, unless it is taken back before. */
export interface Deadline {
  readonly at: number;
  readonly onOver: () => void;
}

/** Waking up earlier is no error; one made for each would cost more than most jobs. */
const EARLIER = new Error('another deadline is earlier');

/** Time limits of many jobs on one timer: nearly all of them are taken back. */
export class Deadlines {
  readonly #clock: Env['clock'];
  readonly #open = new Set<Deadline>();
  #wakeAt = Number.POSITIVE_INFINITY;
  #sleep = new AbortController();

  constructor(clock: Env['clock']) {
    this.#clock = clock;
  }

  add(ms: number, onOver: () => void): Deadline {
    const deadline = { at: this.#clock.elapsedMs() + ms, onOver };
    this.#open.add(deadline);
    if (deadline.at < this.#wakeAt) this.#wake(deadline.at);
    return deadline;
  }

  /** The timer ends with the last one, so that it keeps no process alive. */
  delete(deadline: Deadline | undefined): void {
    if (deadline === undefined || !this.#open.delete(deadline) || this.#open.size > 0) return;
    this.#sleep.abort(EARLIER);
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  #wake(at: number): void {
    this.#sleep.abort(EARLIER);
    this.#sleep = new AbortController();
    this.#wakeAt = at;
    void this.#sleepUntil(at, this.#sleep.signal);
  }

  async #sleepUntil(at: number, over: AbortSignal): Promise<void> {
    await this.#clock.sleep(at - this.#clock.elapsedMs(), over);
    if (over.aborted) return;
    const now = this.#clock.elapsedMs();
    const due = [...this.#open].filter((deadline) => deadline.at <= now);
    for (const deadline of due) this.#open.delete(deadline);
    const next = Math.min(...[...this.#open].map((deadline) => deadline.at));
    this.#wakeAt = Number.POSITIVE_INFINITY;
    if (this.#open.size > 0) this.#wake(next);
    for (const { onOver } of due) onOver();
  }
}
