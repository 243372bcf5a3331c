import type { JsonValue } from './text/json.ts';
import { percentDecoded } from './text/percent-decoded.ts';

/** Shorter values are not hidden, because replacing them would damage unrelated text. */
export const SECRET_MIN_LENGTH = 4;
const MASK = '***';

/**
 * The secret values this process has resolved. Everything that leaves it as text for people
 * (logs, errors, API bodies, notifications) passes through `text`; record data does not.
 */
export class Redactor {
  readonly #values = new Set<string>();
  /**
   * The values and their encoded forms, longest first: a secret that contains another one must be
   * hidden as a whole.
   */
  #forms: readonly string[] | undefined;

  register(value: string): void {
    if (value.length < SECRET_MIN_LENGTH || this.#values.has(value)) return;
    this.#values.add(value);
    this.#forms = undefined;
  }

  /** The registered values, for handing them to a worker process. */
  values(): readonly string[] {
    return [...this.#values];
  }

  text(text: string): string {
    if (this.#values.size === 0) return text;
    this.#forms ??= [...new Set([...this.#values].flatMap(formsOf))].sort(
      (a, b) => b.length - a.length,
    );
    let out = text;
    for (const form of this.#forms) {
      if (out.includes(form)) out = out.replaceAll(form, MASK);
    }
    return out;
  }

  /** A copy with every string redacted, keys included. */
  json<T>(value: T): T {
    if (this.#values.size === 0) return value;
    return this.#walk(value as JsonValue) as T;
  }

  #walk(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#walk(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key), this.#walk(item)]),
    );
  }
}

/**
 * The forms in which a secret may appear in a text: unchanged, in JSON (also nested), in an
 * address, in a form, in a header; and the password of an address.
 */
function formsOf(value: string): string[] {
  const bare = [value, value.trim(), ...passwordsOf(value)].filter(
    (one) => one.length >= SECRET_MIN_LENGTH,
  );
  return bare.flatMap((one) => [
    one,
    inJson(one),
    inJson(inJson(one)),
    inAddress(one),
    inForm(one),
    inBase64(one),
    inBase64(one).replaceAll('+', '-').replaceAll('/', '_'),
  ]);
}

function passwordsOf(value: string): string[] {
  if (!value.includes('://') || !URL.canParse(value)) return [];
  const { password } = new URL(value);
  return [password, percentDecoded(password)];
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Half a surrogate pair cannot be URL-encoded. */
function inAddress(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

function inForm(value: string): string {
  return new URLSearchParams([['', value]]).toString().slice(1);
}

/** Without the padding, which depends on the following text. */
function inBase64(value: string): string {
  return Buffer.from(value, 'utf8').toString('base64').replace(/=+$/, '');
}
