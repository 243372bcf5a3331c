/** How fast runs start and end here lately: how many of those that wait begin soon. */
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
  /** Until the start of a run is on record. */
  #startMs = 0;

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
      this.#meanMs = meanOf(this.#meanMs, clock.elapsedMs() - begun.at);
    };
  }

  /** A start was recorded, which took so long. */
  noteStart(ms: number): void {
    this.#startMs = meanOf(this.#startMs, ms);
  }

  /** Runs beyond the slots that are likely to begin soon; 0 while one of those in the slots is a long one. */
  get ahead(): number {
    return this.#within(AHEAD_MS);
  }

  /** Those of them that begin while the next starts are recorded, and those after them. */
  get startable(): number {
    return this.#within(Math.min(2 * this.#startMs, AHEAD_MS));
  }

  #within(ms: number): number {
    const { clock, slots } = this.#options;
    if (this.#meanMs === undefined) return 0;
    const longAgo = clock.elapsedMs() - AHEAD_MS;
    for (const { at } of this.#begun) if (at < longAgo) return 0;
    return Math.min(MOST_AHEAD, Math.floor((slots * ms) / Math.max(1, this.#meanMs)));
  }

  /** It was wrong: a run waited for long. The next ones say how fast they end. */
  forget(): void {
    this.#meanMs = undefined;
  }
}

function meanOf(mean: number | undefined, newest: number): number {
  return mean === undefined ? newest : mean + (newest - mean) * WEIGHT;
}
