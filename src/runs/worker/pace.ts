/** One job that takes long says little about the next. */
const LONGEST_MS = 100;
const WEIGHT = 0.25;

/** How many jobs a worker is given ahead: a few milliseconds of work. */
export class Pace {
  readonly #aheadMs: number;
  #meanMs = LONGEST_MS;

  constructor(aheadMs: number) {
    this.#aheadMs = aheadMs;
  }

  done(tookMs: number): void {
    this.#meanMs += (Math.min(tookMs, LONGEST_MS) - this.#meanMs) * WEIGHT;
  }

  depth(most: number): number {
    return Math.min(most, Math.max(1, Math.floor(this.#aheadMs / this.#meanMs)));
  }
}
