/** Time as the product sees it; tests hand over a fake. */
export interface Clock {
  now(): Date;
  /** Monotonic milliseconds, for durations. */
  elapsedMs(): number;
  /**
   * Resolves after `ms`, or at once when `signal` fires (check `signal.aborted` after). Never
   * rejects.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A timer asked for more than this fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  elapsedMs: () => performance.now(),
  sleep: async (ms, signal) => {
    let left = ms;
    while (left > 0 && !isAborted(signal)) {
      await nap(Math.min(left, LONGEST_TIMER_MS), signal);
      left -= LONGEST_TIMER_MS;
    }
  },
};

function nap(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
