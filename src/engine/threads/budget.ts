/** What one thread reads and writes keeps hardly more of them busy. */
const MOST_THREADS = 4;

/**
 * How many threads a machine has to spare for each of so many runs that go on at the same time,
 * beside the one that moves its pages.
 */
export function threadsToSpare(cpus: number, runs = 1): number {
  return Math.min(MOST_THREADS, Math.max(0, Math.floor(cpus / runs) - 1));
}

/** Threads that the rows of a run may use, all together. */
export class ThreadBudget {
  #left: number;

  constructor(threads: number) {
    this.#left = threads;
  }

  /** All that are left. */
  take(): number {
    const taken = this.#left;
    this.#left = 0;
    return taken;
  }

  giveBack(threads: number): void {
    this.#left += threads;
  }
}
