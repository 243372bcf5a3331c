import { LRUCache } from 'lru-cache';
import type { Clock } from './time/clock.ts';

export interface RecentLimits {
  readonly entries: number;
  /** Sum of the sizes of all entries. */
  readonly size: number;
  /** An entry that was not used for this time is removed. */
  readonly idleMs: number;
}

/** Values by key; the least recently used are removed for new ones. */
export class RecentValues<V extends object | string | number> {
  readonly #cache: LRUCache<string, V>;
  readonly #idleMs: number;
  readonly #nowMs: () => number;
  #purgedMs: number;

  constructor(limits: RecentLimits, clock: Pick<Clock, 'elapsedMs'>) {
    // The library treats a start time of 0 as unset.
    this.#nowMs = () => clock.elapsedMs() + 1;
    this.#idleMs = limits.idleMs;
    this.#purgedMs = this.#nowMs();
    this.#cache = new LRUCache({
      max: limits.entries,
      maxSize: limits.size,
      ttl: limits.idleMs,
      ttlResolution: 0,
      updateAgeOnGet: true,
      perf: { now: this.#nowMs },
    });
  }

  get count(): number {
    return this.#cache.size;
  }

  find(key: string): V | undefined {
    this.#purge();
    return this.#cache.get(key);
  }

  keep(key: string, value: V, size: number): void {
    this.#cache.set(key, value, { size: Math.max(1, size) });
  }

  forget(key: string): void {
    this.#cache.delete(key);
  }

  /** The library removes an idle entry when it is looked up; this removes those that are not. */
  #purge(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#purgedMs <= this.#idleMs) return;
    this.#purgedMs = nowMs;
    this.#cache.purgeStale();
  }
}
