import type { Clock } from './time/clock.ts';

/** A receiver that responds within this time, even with an error, delays nobody. */
const WAITED_MS = 1000;
const LEFT_ALONE_MS = 30_000;
const REMEMBERED = 1000;

/**
 * Remembers receivers that did not answer in time, so that for a while no run waits for them again.
 * A process that executes many runs keeps this between runs: otherwise the notifications of a short
 * run would take longer than the run, every time.
 */
export class Outages {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  /** For each receiver the time until which it is skipped; the oldest first. */
  readonly #leftAlone = new Map<string, number>();

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock;
  }

  isLeftAlone(receiver: string): boolean {
    return (this.#leftAlone.get(receiver) ?? 0) > this.#clock.elapsedMs();
  }

  /** Records that a wait that started at this time got no response. */
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
