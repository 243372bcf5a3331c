import type { ZodType } from 'zod';
import type { Clock } from '../lib/time/clock.ts';
import { RecentValues } from '../lib/recent-values.ts';
import { check, type Check, type Checked } from './schema.ts';

const LIMITS = { entries: 4000, size: 4 * 1024 * 1024, idleMs: 300_000 };
/** Longer values are checked each time. */
const MAX_CHARS = 16 * 1024;

/**
 * What a value was parsed to; of one that came once only that it came, because most of those never
 * come again.
 */
type Known = { readonly parsed: unknown } | 'came once';

/**
 * Checks values, and remembers what those were parsed to that fit their schema and came more than
 * once: most of what a document holds was in others before. Whoever takes a parsed value leaves it
 * as it is. Values with secrets are not for it, because it keeps their text.
 */
export class CheckedValues {
  readonly #recent: RecentValues<Known>;
  readonly #ids = new WeakMap<ZodType, number>();
  #schemas = 0;

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#recent = new RecentValues(LIMITS, clock);
  }

  readonly check: Check = <T>(schema: ZodType<T>, value: unknown, path?: string): Checked<T> => {
    const text = textOf(value);
    if (text === undefined) return check(schema, value, path);
    const key = `${this.#idOf(schema)} ${text}`;
    const known = this.#recent.find(key);
    // It is what this schema made of it.
    if (known !== undefined && known !== 'came once') return { ok: true, value: known.parsed as T };
    const result = check(schema, value, path);
    if (result.ok)
      this.#recent.keep(
        key,
        known === undefined ? 'came once' : { parsed: result.value },
        text.length,
      );
    return result;
  };

  #idOf(schema: ZodType): number {
    let id = this.#ids.get(schema);
    if (id === undefined) this.#ids.set(schema, (id = this.#schemas += 1));
    return id;
  }
}

/** Undefined of what is too long, or holds numbers that would read like others. */
function textOf(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && text.length <= MAX_CHARS ? text : undefined;
  } catch {
    return undefined;
  }
}
