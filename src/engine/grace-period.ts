import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../lib/time/clock.ts';

/**
 * Time that a source has to settle after it was asked to stop. One that is blocked in a system call
 * is abandoned after it.
 */
const GRACE_PERIOD_MS = 500;

/** Made once, because each abort makes an error with a stack. */
const ALREADY_ABORTED = AbortSignal.abort();

/**
 * The value of `work`, or `undefined` when the signal has fired and `work` did not settle within
 * the grace period. Rejects as `work` does.
 */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): Promise<{ readonly value: T } | undefined> {
  return abortableWithin(work, signal, { clock, graceMs: GRACE_PERIOD_MS });
}

/** `abortable` with a grace period of the caller. */
export async function abortableWithin<T>(
  work: Promise<T>,
  signal: AbortSignal,
  { clock, graceMs }: { readonly clock: Clock; readonly graceMs: number },
): Promise<{ readonly value: T } | undefined> {
  const settled = work.then((value) => ({ value }));
  const answer =
    (signal.aborted ? undefined : await Promise.race([settled, fired(signal, settled)])) ??
    (await alreadySettled(settled));
  if (answer !== undefined) return answer;
  const answered = new AbortController();
  try {
    return await Promise.race([
      settled,
      clock.sleep(graceMs, answered.signal).then(() => undefined),
    ]);
  } finally {
    answered.abort();
    // Abandoned work may still reject later, and must not be an unhandled rejection.
    settled.catch(() => {});
  }
}

/** The value if it needs no more I/O, else `undefined`. */
function alreadySettled<T>(settled: Promise<T>): Promise<T | undefined> {
  return Promise.race([settled, setImmediate(undefined)]);
}

/** `abortable` for work whose signal has fired already, such as closing. */
export function withinGracePeriod<T>(
  work: Promise<T>,
  clock: Clock,
): Promise<{ readonly value: T } | undefined> {
  return abortable(work, ALREADY_ABORTED, clock);
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
