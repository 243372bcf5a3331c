/** How fast runs end here lately: how many of those that wait begin soon. */
import type { Clock } from '../../lib/time/clock.ts';

/** What begins within this time may be claimed before a slot is free for it. */
const AHEAD_MS = 100;
/** However fast they end: what this server holds, no other one begins. */
const MOST_AHEAD = 16;
/** Of the newest duration in the mean. */
const WEIGHT = 1 / 8;

export interface RunPaceOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>;
  /** Runs that execute at the same time. */
  readonly slots: number;
}

export class RunPace {
  readonly #options: RunPaceOptions;
  /** When each of the runs that execute began, as `clock.elapsedMs()`. */
  readonly #begun = new Set<{ readonly at: number }>();
  /** Undefined before the first run has ended. */
  #meanMs: number | undefined;

  constructor(options: RunPaceOptions) {
    this.#options = options;
  }

  /** A run begins; what it returns is to be called when it has ended. */
  begin(): () => void {
    const { clock } = this.#options;
    const begun = { at: clock.elapsedMs() };
    this.#begun.add(begun);
    return () => {
      this.#begun.delete(begun);
      const ms = clock.elapsedMs() - begun.at;
      this.#meanMs = this.#meanMs === undefined ? ms : this.#meanMs + (ms - this.#meanMs) * WEIGHT;
    };
  }

  /** Runs beyond the slots that are likely to begin soon; 0 while one of those in the slots is a long one. */
  get ahead(): number {
    const { clock, slots } = this.#options;
    if (this.#meanMs === undefined) return 0;
    const longAgo = clock.elapsedMs() - AHEAD_MS;
    for (const { at } of this.#begun) if (at < longAgo) return 0;
    return Math.min(MOST_AHEAD, Math.floor((slots * AHEAD_MS) / Math.max(1, this.#meanMs)));
  }

  /** It was wrong: a run waited for long. The next ones say how fast they end. */
  forget(): void {
    this.#meanMs = undefined;
  }
}
