import type { Clock } from '../../lib/time/clock.ts';

/** Of each kind. Whoever comes after that takes the place of the oldest. */
const MAX_ENTRIES = 10_000;

/**
 * What a process remembers from run to run: what was sent lately, and which incidents it has
 * opened. It forgets all of it at its end; open incidents are stored as well (`open-incidents.ts`).
 */
export class NotificationMemory {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  /** Until when nothing more is sent, by key; the oldest first. */
  readonly #quietUntil = new Map<string, number>();
  readonly #open = new Set<string>();

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock;
  }

  /** Whether the window is free; then it begins now. */
  claim(key: string, windowSecs: number): boolean {
    if (windowSecs === 0) return true;
    const now = this.#clock.elapsedMs();
    if ((this.#quietUntil.get(key) ?? 0) > now) return false;
    this.#forgetExpired(now);
    this.#quietUntil.delete(key);
    this.#quietUntil.set(key, now + windowSecs * 1000);
    trim(this.#quietUntil);
    return true;
  }

  /** What was claimed was not sent after all. */
  release(key: string): void {
    this.#quietUntil.delete(key);
  }

  open(incident: string): void {
    this.#open.add(incident);
    trim(this.#open);
  }

  isOpen(incident: string): boolean {
    return this.#open.has(incident);
  }

  resolved(incident: string): void {
    this.#open.delete(incident);
  }

  /** Only from the front: windows differ, so what is behind one that lasts is looked at later. */
  #forgetExpired(now: number): void {
    for (const [key, until] of this.#quietUntil) {
      if (until > now) return;
      this.#quietUntil.delete(key);
    }
  }
}

function trim(entries: Map<string, unknown> | Set<string>): void {
  const [oldest] = entries.keys();
  if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
}
