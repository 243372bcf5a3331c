/** Time as the product sees it; tests hand over a fake. */
export interface Clock {
  now(): Date;
  /** Monotonic milliseconds, for durations. */
  elapsedMs(): number;
  /** Resolves after `ms`, or at once when `signal` fires (check `signal.aborted` after). Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  elapsedMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
