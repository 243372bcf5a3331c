import type { JsonValue } from './json.ts';

/** Shorter values are not hidden: replacing them would spoil unrelated text. */
export const SECRET_MIN_LENGTH = 4;
const MASK = '***';

/**
 * The secret values this process has resolved. Everything that leaves it as text for people
 * (logs, errors, API bodies, notifications) passes through `text`; record data does not.
 */
export class Redactor {
  #values: string[] = [];

  register(value: string): void {
    if (value.length < SECRET_MIN_LENGTH || this.#values.includes(value)) return;
    this.#values.push(value);
    // Longest first: a secret that contains another must not leave its tail behind.
    this.#values.sort((a, b) => b.length - a.length);
  }

  /** The registered values, for handing them to a worker process. */
  values(): readonly string[] {
    return this.#values;
  }

  text(text: string): string {
    let out = text;
    for (const value of this.#values) {
      if (out.includes(value)) out = out.replaceAll(value, MASK);
    }
    return out;
  }

  /** A copy with every string redacted, keys included. */
  json<T>(value: T): T {
    if (this.#values.length === 0) return value;
    return this.#walk(value as JsonValue) as T;
  }

  #walk(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#walk(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.text(key), this.#walk(item)]));
  }
}
