/**
 * Waiting for what others change or have locked in a file of SQLite or DuckDB, without blocking the
 * event loop: SQLite is opened with `busyTimeoutMs: 0`, and what fails is tried again by a timer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from './sqlite.ts';

/** How long a caller waits for others. */
export const LOCK_WAIT_MS = 5000;

/** Pauses between attempts; the last one is repeated. Others commit often. */
const PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 50] as const;

export function lockPauseMs(attempt: number): number {
  return PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)] ?? 50;
}

/**
 * Runs `work` until it gets the lock. `work` must be safe to repeat. Rejects with the error of
 * SQLite when the lock is still held after `waitMs`.
 */
export async function retryWhileLocked<T>(work: () => T, waitMs = LOCK_WAIT_MS): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await sleep(lockPauseMs(attempt));
    }
  }
}
