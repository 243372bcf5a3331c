import type { Clock } from '../../src/lib/time/clock.ts';

interface Sleeper {
  readonly atMs: number;
  readonly done: () => void;
}

/**
 * Time that stands still until `pass` lets it go on: then every sleep ends at its moment, in order,
 * and what it wakes gets its turn.
 */
export interface EventClock extends Clock {
  pass(ms: number): Promise<void>;
  /** The machine sleeps: time is gone when it wakes, and nobody was woken meanwhile. */
  leap(ms: number): Promise<void>;
  /** Time is gone, and the system has not woken anybody yet. */
  hold(ms: number): void;
}

export function eventClock(start = '2026-01-31T12:00:00.000Z'): EventClock {
  const from = Date.parse(start);
  const sleepers = new Set<Sleeper>();
  let nowMs = 0;
  const wakeUntil = async (ms: number): Promise<void> => {
    await settled();
    for (;;) {
      const [first] = [...sleepers]
        .filter(({ atMs }) => atMs <= ms)
        .sort((one, other) => one.atMs - other.atMs);
      if (first === undefined) break;
      nowMs = Math.max(nowMs, first.atMs);
      first.done();
      await settled();
    }
    nowMs = Math.max(nowMs, ms);
  };
  return {
    now: () => new Date(from + nowMs),
    elapsedMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const sleeper: Sleeper = {
          atMs: nowMs + ms,
          done: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', sleeper.done);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', sleeper.done, { once: true });
      }),
    pass: (ms) => wakeUntil(nowMs + ms),
    leap: async (ms) => {
      await settled();
      nowMs += ms;
      await wakeUntil(nowMs);
    },
    hold: (ms) => {
      nowMs += ms;
    },
  };
}

/** Everything that can happen without time going on has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
