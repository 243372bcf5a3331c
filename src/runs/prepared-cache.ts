/** Documents that come again and again: who submits the same text for a third time pays for no parsing, no validation and no planning. */
import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Variables, VariableReads } from './outside-watch.ts';
import type { Prepared, PrepareInput } from './prepared.ts';

const MAX_ENTRIES = 500;
/** Of documents that came once. */
const MAX_SEEN = 5000;
/** Of texts; what is made of one takes several times as much. */
const MAX_TEXT_CHARS = 8 * 1024 * 1024;
/** An entry that nobody asks for is let go: its text may hold what its author should not have written there. */
const IDLE_MS = 300_000;

/** What a preparation depends on besides the submission. */
export interface Surroundings {
  readonly variables: Variables;
  /** The server's default document; another one is another object. */
  readonly base: JsonObject | undefined;
}

interface Entry {
  readonly prepared: Prepared;
  readonly base: JsonObject | undefined;
  /** The variables that the document read, as they were. */
  readonly reads: VariableReads;
  readonly chars: number;
  usedAt: number;
}

export class PreparedCache {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Keys of documents that came once, the oldest first. Most of them never come again: to keep those would be work for nothing. */
  readonly #seen = new Set<string>();
  #chars = 0;

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Undefined when the submission was not prepared before, or something it depends on has changed since. */
  find(key: string, { variables, base }: Surroundings): Prepared | undefined {
    this.#expire();
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#forget(key, entry);
    if (entry.base !== base || entry.reads.some(({ name, value }) => variables[name] !== value)) return undefined;
    this.#remember(key, entry);
    return entry.prepared;
  }

  /** From its second time on, and while it is not too long. */
  keep(key: string, entry: Omit<Entry, 'usedAt'>): void {
    if (entry.chars > MAX_TEXT_CHARS / 8 || !this.#isSeen(key)) return;
    const before = this.#entries.get(key);
    if (before !== undefined) this.#forget(key, before);
    this.#remember(key, { ...entry, usedAt: 0 });
    for (const [oldest, least] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && this.#chars <= MAX_TEXT_CHARS) return;
      this.#forget(oldest, least);
    }
  }

  #isSeen(key: string): boolean {
    if (this.#seen.has(key)) return true;
    this.#seen.add(key);
    const [oldest = key] = this.#seen;
    if (this.#seen.size > MAX_SEEN) this.#seen.delete(oldest);
    return false;
  }

  #remember(key: string, entry: Entry): void {
    entry.usedAt = this.#clock.elapsedMs();
    this.#entries.set(key, entry);
    this.#chars += entry.chars;
  }

  #forget(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#chars -= entry.chars;
  }

  #expire(): void {
    const before = this.#clock.elapsedMs() - IDLE_MS;
    for (const [oldest, entry] of this.#entries) {
      if (entry.usedAt > before) return;
      this.#forget(oldest, entry);
    }
  }
}

/** Of everything in a submission that preparing looks at: a field added there has to be added here, or this does not compile. */
export function keyOf({ config, config_format, name, ...rest }: PrepareInput): string {
  rest satisfies Readonly<Record<string, never>>;
  return hash('sha256', `${config_format} ${name == null ? '' : JSON.stringify(name)} ${config}`);
}
