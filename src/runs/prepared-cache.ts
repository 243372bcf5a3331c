/** Documents that were prepared before: who submits the same text again pays for no parsing, no validation and no planning. */
import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Variables, VariableReads } from './outside-watch.ts';
import type { Prepared, PrepareInput } from './prepared.ts';

const MAX_ENTRIES = 500;
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
  #chars = 0;

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Undefined when the submission was not prepared before, or something it depends on has changed since. */
  find(input: PrepareInput, { variables, base }: Surroundings): Prepared | undefined {
    this.#expire();
    const key = keyOf(input);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#forget(key, entry);
    if (entry.base !== base || entry.reads.some(({ name, value }) => variables[name] !== value)) return undefined;
    this.#remember(key, entry);
    return entry.prepared;
  }

  keep(input: PrepareInput, prepared: Prepared, { base, reads }: Pick<Entry, 'base' | 'reads'>): void {
    const chars = input.config.length;
    if (chars > MAX_TEXT_CHARS / 8) return;
    const key = keyOf(input);
    const before = this.#entries.get(key);
    if (before !== undefined) this.#forget(key, before);
    this.#remember(key, { prepared, base, reads, chars, usedAt: 0 });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && this.#chars <= MAX_TEXT_CHARS) return;
      this.#forget(oldest, entry);
    }
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
function keyOf({ config, config_format, name, ...rest }: PrepareInput): string {
  rest satisfies Readonly<Record<string, never>>;
  return hash('sha256', `${config_format} ${name == null ? '' : JSON.stringify(name)} ${config}`);
}
