import type { Clock } from '../../lib/time/clock.ts';
import { abortableWithin } from '../grace-period.ts';

/** An observer that takes longer than this after a run was stopped is no longer waited for. */
export const NOTIFICATION_GRACE_MS = 10_000;

/**
 * Notifications of runs that have ended, for callers that execute one run after the other: the next
 * run does not wait for an observer that does not answer.
 */
export class PendingNotifications {
  readonly #pending = new Set<Promise<void>>();

  /** For `ExecuteOptions.onNotifying`. */
  readonly add = (notified: Promise<void>): void => {
    this.#pending.add(notified);
    void notified.finally(() => this.#pending.delete(notified));
  };

  /** Resolves when all notifications were delivered, have failed, or are overdue. */
  async settle(clock: Clock): Promise<void> {
    await abortableWithin(Promise.all(this.#pending), AbortSignal.abort(), {
      clock,
      graceMs: NOTIFICATION_GRACE_MS,
    });
  }
}
