/** One job that takes long says little about the next. */
const LONGEST_MS = 100;
const WEIGHT = 0.25;

/** Of times, those of the last jobs most of all. */
export class RunningMean {
  ms: number;

  constructor(assumedMs: number) {
    this.ms = assumedMs;
  }

  add(ms: number): void {
    this.ms += (Math.min(ms, LONGEST_MS) - this.ms) * WEIGHT;
  }
}

/** How many jobs a worker is given ahead: a few milliseconds of work. */
export class Pace {
  readonly #aheadMs: number;
  readonly #mean = new RunningMean(LONGEST_MS);

  constructor(aheadMs: number) {
    this.#aheadMs = aheadMs;
  }

  done(tookMs: number): void {
    this.#mean.add(tookMs);
  }

  depth(most: number): number {
    return Math.min(most, Math.max(1, Math.floor(this.#aheadMs / this.#mean.ms)));
  }
}
