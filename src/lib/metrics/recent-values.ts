import type { Clock } from '../time/clock.ts';

export interface RecentLimits {
  readonly entries: number;
  /** What entries say of their size, altogether. */
  readonly size: number;
  /** An entry that nobody asks for is let go. */
  readonly idleMs: number;
}

interface Entry<V> {
  readonly value: V;
  readonly size: number;
  usedAt: number;
}

/** Values by key; those that nobody asked for the longest make room for new ones. */
export class RecentValues<V> {
  readonly #limits: RecentLimits;
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry<V>>();
  #size = 0;

  constructor(limits: RecentLimits, clock: Pick<Clock, 'elapsedMs'>) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get count(): number {
    return this.#entries.size;
  }

  find(key: string): V | undefined {
    this.#expire();
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.forget(key);
    this.#put(key, entry);
    return entry.value;
  }

  keep(key: string, value: V, size: number): void {
    this.forget(key);
    this.#put(key, { value, size, usedAt: 0 });
    const { entries, size: most } = this.#limits;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entries && this.#size <= most) return;
      this.forget(oldest);
    }
  }

  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#size -= entry.size;
  }

  #put(key: string, entry: Entry<V>): void {
    entry.usedAt = this.#clock.elapsedMs();
    this.#entries.set(key, entry);
    this.#size += entry.size;
  }

  #expire(): void {
    const before = this.#clock.elapsedMs() - this.#limits.idleMs;
    for (const [oldest, { usedAt }] of this.#entries) {
      if (usedAt > before) return;
      this.forget(oldest);
    }
  }
}
