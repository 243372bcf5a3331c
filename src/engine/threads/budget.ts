/** One reading and writing thread cannot keep more of them busy. */
const MOST_THREADS = 4;

/** How many threads each of `runs` concurrent runs may use beside the one that moves its pages. */
export function threadsToSpare(cpus: number, runs = 1): number {
  return Math.min(MOST_THREADS, Math.max(0, Math.floor(cpus / runs) - 1));
}

/** A row that reads less than this ends before threads would have started. */
const LONG_ROW_BYTES = 8 * 1024 * 1024;

/** Threads that the rows of a run may use, all together. */
export class ThreadBudget {
  /** A row gets threads when it has read so many bytes; with 0 it waits for them. */
  readonly fromBytes: number;
  #left: number;

  constructor(threads: number, fromBytes = LONG_ROW_BYTES) {
    this.#left = threads;
    this.fromBytes = fromBytes;
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
