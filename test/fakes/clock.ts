import type { Clock } from '../../src/lib/time/clock.ts';

export interface StillClock extends Clock {
  /** Every wait asked for, in milliseconds. */
  readonly waits: number[];
  advance(ms: number): void;
}

/** Time that moves only by sleeping; every wait is remembered. */
export function stillClock(start = '2026-01-31T12:00:00.000Z'): StillClock {
  let ms = 0;
  const waits: number[] = [];
  const from = Date.parse(start);
  return {
    waits,
    advance: (by) => void (ms += by),
    now: () => new Date(from + ms),
    elapsedMs: () => ms,
    sleep(by) {
      waits.push(by);
      ms += by;
      return Promise.resolve();
    },
  };
}
