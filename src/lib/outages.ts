import type { Clock } from './time/clock.ts';

/** Who answers sooner, even with a refusal, holds nobody up. */
const WAITED_MS = 1000;
const LEFT_ALONE_MS = 30_000;
const REMEMBERED = 1000;

/**
 * Receivers that kept somebody waiting for nothing: for a while nobody waits for them again. A
 * process that executes one run after the other remembers them beyond the end of a run: telling of
 * a short run shall not take longer than the run, again and again.
 */
export class Outages {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  /** Until when, by receiver; the oldest first. */
  readonly #leftAlone = new Map<string, number>();

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock;
  }

  isLeftAlone(receiver: string): boolean {
    return (this.#leftAlone.get(receiver) ?? 0) > this.#clock.elapsedMs();
  }

  /** Somebody began to wait at this moment, and it was for nothing. */
  failed(receiver: string, fromMs: number): void {
    const now = this.#clock.elapsedMs();
    this.#leftAlone.delete(receiver);
    if (now - fromMs < WAITED_MS) return;
    this.#leftAlone.set(receiver, now + LEFT_ALONE_MS);
    const [oldest] = this.#leftAlone.keys();
    if (this.#leftAlone.size > REMEMBERED && oldest !== undefined) this.#leftAlone.delete(oldest);
  }
}

export const LEFT_ALONE = 'it did not answer a moment ago and is left alone for now';
