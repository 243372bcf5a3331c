import type { Clock } from '../../lib/time/clock.ts';
import { patiently } from '../patience.ts';

/**
 * Whoever takes longer once a run is to stop is not waited for: a run that has ended must not be
 * taken for one that does not end.
 */
export const LAST_WORDS_MS = 10_000;

/**
 * What runs that are over have still to tell, for whoever executes one after the other: none of
 * them waits for those who do not answer.
 */
export class LastWords {
  readonly #telling = new Set<Promise<void>>();

  /** For `ExecuteOptions.onTelling`. */
  readonly add = (told: Promise<void>): void => {
    this.#telling.add(told);
    void told.finally(() => this.#telling.delete(told));
  };

  /**
   * Resolves when everybody was told of the runs so far, could not be reached, or does not answer.
   */
  async settle(clock: Clock): Promise<void> {
    await patiently(Promise.all(this.#telling), AbortSignal.abort(), {
      clock,
      patienceMs: LAST_WORDS_MS,
    });
  }
}
