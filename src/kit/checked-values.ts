import type { ZodType } from 'zod';
import type { Clock } from '../lib/time/clock.ts';
import { RecentValues } from '../lib/recent-values.ts';
import { check, type Check, type Checked } from './schema.ts';

const LIMITS = { entries: 4000, size: 4 * 1024 * 1024, idleMs: 300_000 };
/** Longer values are not remembered. */
const MAX_CHARS = 16 * 1024;

/**
 * The parsed value. Of a value seen only once it is just known that it was seen, because most of
 * those are never seen again.
 */
type Known = { readonly parsed: unknown } | 'came once';

/**
 * Checks values, and remembers the parsed form of valid values that were seen more than once: most
 * of a document was part of earlier documents. Callers must not change a parsed value. Not for
 * values with secrets, because their text is kept in memory.
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
    // The key contains the schema, so the type is right.
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

/** `undefined` for values that are too long or that JSON cannot hold. */
function textOf(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && text.length <= MAX_CHARS ? text : undefined;
  } catch {
    return undefined;
  }
}
