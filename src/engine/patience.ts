import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../lib/time/clock.ts';

/**
 * A source that is asked to stop has this long; one that is blocked in a call of the system is then
 * left behind.
 */
const PATIENCE_MS = 500;

/** Made once: each has an error of its own, with its stack. */
const NOBODY_WAITS = AbortSignal.abort();

/**
 * What `work` gives; `undefined` when the signal has fired and `work` did not settle in time.
 * Rejects as `work` does.
 */
export function whileWanted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): Promise<{ readonly value: T } | undefined> {
  return patiently(work, signal, { clock, patienceMs: PATIENCE_MS });
}

/** The same with another time. */
export async function patiently<T>(
  work: Promise<T>,
  signal: AbortSignal,
  { clock, patienceMs }: { readonly clock: Clock; readonly patienceMs: number },
): Promise<{ readonly value: T } | undefined> {
  const settled = work.then((value) => ({ value }));
  const answer =
    (signal.aborted ? undefined : await Promise.race([settled, fired(signal, settled)])) ??
    (await promptly(settled));
  if (answer !== undefined) return answer;
  const answered = new AbortController();
  try {
    return await Promise.race([
      settled,
      clock.sleep(patienceMs, answered.signal).then(() => undefined),
    ]);
  } finally {
    answered.abort();
    // Left behind, it may still fail; nobody is there to hear it.
    settled.catch(() => {});
  }
}

/** What is there already, or comes without waiting for the world outside. */
function promptly<T>(settled: Promise<T>): Promise<T | undefined> {
  return Promise.race([settled, setImmediate(undefined)]);
}

/** The same for work that nobody wants any more. */
export function unwanted<T>(
  work: Promise<T>,
  clock: Clock,
): Promise<{ readonly value: T } | undefined> {
  return whileWanted(work, NOBODY_WAITS, clock);
}

/** Resolves when the signal fires; stops listening when `work` has settled. */
function fired(signal: AbortSignal, work: Promise<unknown>): Promise<undefined> {
  return new Promise((resolve) => {
    const done = (): void => resolve(undefined);
    signal.addEventListener('abort', done, { once: true });
    const forget = (): void => signal.removeEventListener('abort', done);
    work.then(forget, forget);
  });
}
