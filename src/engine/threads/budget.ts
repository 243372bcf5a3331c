/** One reading and writing thread cannot keep more of them busy. */
const MOST_THREADS = 4;

/** How many threads each of `runs` concurrent runs may use beside the one that moves its pages. */
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
