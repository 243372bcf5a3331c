/**
 * Submissions of those who can wait, such as schedules: where an HTTP client is told that the queue
 * is full, these are tried until there is room. A few at a time, so that clients get their turn.
 */
import { Gate } from '../../lib/gate.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';

const AT_ONCE = 8;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;

export interface SubmitWhenRoom {
  /**
   * Calls `submit` until it is not refused for want of room, or of an answer of the history. Rejects
   * with any other error, and with the reason of the signal.
   */
  <T>(submit: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createSubmitWhenRoom(clock: Clock): SubmitWhenRoom {
  const gate = new Gate(AT_ONCE);
  return async (submit, signal) => {
    const leave = await gate.enter(signal);
    try {
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
        try {
          return await submit();
        } catch (error) {
          if (!isForNow(error)) throw error;
        }
        await clock.sleep(waitMs, signal);
        signal.throwIfAborted();
      }
    } finally {
      leave();
    }
  };
}

function isForNow(error: unknown): boolean {
  return (
    error instanceof RefusedError && (error.code === 'queue_full' || error.code === 'unavailable')
  );
}
