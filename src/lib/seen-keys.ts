/** Remembers the last keys that came, to tell what comes again from what comes once. */
export class SeenKeys {
  readonly #limit: number;
  /** The oldest first. */
  readonly #keys = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the key came before. */
  add(key: string): boolean {
    if (this.#keys.has(key)) return true;
    this.#keys.add(key);
    const [oldest = key] = this.#keys;
    if (this.#keys.size > this.#limit) this.#keys.delete(oldest);
    return false;
  }
}
