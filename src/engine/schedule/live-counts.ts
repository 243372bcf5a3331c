import type { Progress } from '../../wire/outcome.ts';
import { Tally } from '../row/tally.ts';

/** Counts of the invocations that are executing, and the sum of those that have ended. */
export class LiveCounts {
  readonly #live = new Set<Tally>();
  readonly #ended = new Tally();
  #done = 0;

  watch(tally: Tally): void {
    this.#live.add(tally);
  }

  /** The invocation has ended; without a tally it never moved a page. */
  retire(tally: Tally | undefined): void {
    if (tally === undefined || !this.#live.delete(tally)) return;
    this.#ended.read += tally.read;
    this.#ended.written += tally.written;
    this.#ended.deadLettered += tally.deadLettered;
    this.#ended.bytes += tally.bytes;
  }

  finished(): void {
    this.#done += 1;
  }

  progress(row: string): Progress {
    const sum = { records_read: 0, records_written: 0, records_dead_lettered: 0, bytes_read: 0 };
    for (const tally of [this.#ended, ...this.#live]) {
      sum.records_read += tally.read;
      sum.records_written += tally.written;
      sum.records_dead_lettered += tally.deadLettered;
      sum.bytes_read += tally.bytes;
    }
    return { ...sum, row_id: row, invocations_done: this.#done };
  }
}
