import type { Clock } from '../../lib/time/clock.ts';

/** Lets one event through, and then none until its window is over. */
export class Debounce {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  #closedUntilMs = Number.NEGATIVE_INFINITY;
  #underWay: Promise<unknown> | undefined;

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock;
  }

  /**
   * Undefined for an event inside of a window. The window begins when an event was taken
   * (`isTaken`). Those that come while it is tried wait for it: if it fails, they are tried.
   */
  async pass<T>(
    windowMs: number,
    attempt: () => Promise<T>,
    isTaken: (result: T) => boolean,
  ): Promise<T | undefined> {
    if (windowMs === 0) return attempt();
    while (this.#underWay !== undefined) await this.#underWay;
    if (this.#clock.elapsedMs() < this.#closedUntilMs) return undefined;
    const trying = attempt();
    this.#underWay = trying.then(
      (result) => {
        if (isTaken(result)) this.#closedUntilMs = this.#clock.elapsedMs() + windowMs;
        this.#underWay = undefined;
      },
      () => (this.#underWay = undefined),
    );
    await this.#underWay;
    return trying;
  }
}
