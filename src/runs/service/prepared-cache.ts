/**
 * Documents that come again and again: who submits the same text for a third time pays for no
 * parsing, no validation and no planning.
 */
import type { Clock } from '../../lib/time/clock.ts';
import { RecentValues } from '../../lib/recent-values.ts';
import { SeenKeys } from '../../lib/seen-keys.ts';
import type { PlanSummary } from '../../wire/plan-summary.ts';
import type { Variables, VariableReads } from '../planning/outside-watch.ts';
import { documentHash, type PrepareInput } from './prepared.ts';

const MAX_ENTRIES = 500;
/** Of documents that came once. */
const MAX_SEEN = 5000;
/** Of texts; what is made of one takes several times as much. */
const MAX_TEXT_CHARS = 8 * 1024 * 1024;
/**
 * An entry that nobody asks for is let go: its text may hold what its author should not have
 * written there.
 */
const IDLE_MS = 300_000;

/** What a preparation depends on besides the submission. */
export interface Surroundings {
  readonly variables: Variables;
  /** Hash of the server's default document. */
  readonly base: string | undefined;
}

interface Entry {
  readonly summary: PlanSummary;
  readonly base: string | undefined;
  /** The variables that the document read, as they were. */
  readonly reads: VariableReads;
  readonly chars: number;
}

export class PreparedCache {
  readonly #entries: RecentValues<Entry>;
  /**
   * Keys of documents that came once. Most of them never come again: to keep those would be work
   * for nothing.
   */
  readonly #seen = new SeenKeys(MAX_SEEN);

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#entries = new RecentValues(
      { entries: MAX_ENTRIES, size: MAX_TEXT_CHARS, idleMs: IDLE_MS },
      clock,
    );
  }

  get size(): number {
    return this.#entries.count;
  }

  /**
   * Undefined when the submission was not prepared before, or something it depends on has changed
   * since.
   */
  find(key: string, { variables, base }: Surroundings): PlanSummary | undefined {
    const entry = this.#entries.find(key);
    if (entry === undefined) return undefined;
    if (entry.base === base && entry.reads.every(({ name, value }) => variables[name] === value))
      return entry.summary;
    this.#entries.forget(key);
    return undefined;
  }

  /** From its second time on, and while it is not too long. */
  keep(key: string, entry: Entry): void {
    if (entry.chars <= MAX_TEXT_CHARS / 8 && this.#seen.add(key))
      this.#entries.keep(key, entry, entry.chars);
  }
}

/** What is bound to values of its own is not prepared for anybody else. */
type Unbound = Omit<PrepareInput, 'bound' | 'base'>;

/**
 * Of everything in a submission that preparing looks at: a field added there has to be added here,
 * or this does not compile.
 */
export function keyOf({ config, config_format, name, config_hash, ...rest }: Unbound): string {
  rest satisfies Readonly<Record<string, never>>;
  const document = config_hash ?? documentHash(config);
  return `${config_format} ${document} ${name == null ? '' : `=${name}`}`;
}
