import { RunError } from '../../lib/errors.ts';
import { hasField, isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';

const MOST_KEYS = 100_000;

/**
 * The keys of all records that went to a sink, for telling which rows of the destination vanished
 * at the source.
 */
export class SeenKeys {
  readonly #key: readonly string[];
  /** By their text, as destinations compare them. */
  readonly #seen = new Map<string, readonly JsonValue[]>();

  constructor(key: readonly string[]) {
    this.#key = key;
  }

  get size(): number {
    return this.#seen.size;
  }

  /** Records without a key are none that could be found in the destination. */
  take(records: readonly JsonValue[]): void {
    for (const record of records) {
      if (
        !isObject(record) ||
        !this.#key.every((name) => hasField(record, name) && record[name] !== null)
      )
        continue;
      const values = this.#key.map((name) => record[name] ?? null);
      this.#seen.set(JSON.stringify(values.map(jsonText)), values);
      if (this.#seen.size > MOST_KEYS) throw tooMany();
    }
  }

  values(): readonly (readonly JsonValue[])[] {
    return [...this.#seen.values()];
  }
}

function tooMany(): RunError {
  return new RunError(
    'Sink',
    'too_many_keys',
    `the run has more than ${MOST_KEYS} keys, too many to find the rows that have vanished; none was removed`,
    {
      hint: 'read less at once, with a smaller `complete_for.scope`, or use `on_missing: ignore`',
    },
  );
}
