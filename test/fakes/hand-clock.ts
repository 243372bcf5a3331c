import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/lib/time/clock.ts';

/** Time stands still, and whoever sleeps is woken by hand only. */
export class HandClock implements Clock {
  elapsed = 1000;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  now(): Date {
    return new Date(this.elapsed);
  }
  elapsedMs(): number {
    return this.elapsed;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const sleeper = { until: this.elapsed + ms, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  }
  async pass(ms: number): Promise<void> {
    this.elapsed += ms;
    for (const sleeper of this.#sleepers)
      if (sleeper.until <= this.elapsed && this.#sleepers.delete(sleeper)) sleeper.wake();
    await settled();
  }
}

/** What waits for no time is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}
