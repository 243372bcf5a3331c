const FIRST_WINDOW = 100;
const MOST_AT_ONCE = 10_000;

/**
 * How many records the next command asks for: about as many as fill a page, judged by those that
 * came so far, so that long values do not fill the memory.
 */
export class Window {
  size: number;
  readonly #most: number;
  readonly #pageBytes: number;

  constructor(most: number, pageBytes: number) {
    this.#most = Math.max(1, Math.min(most, MOST_AT_ONCE));
    this.#pageBytes = pageBytes;
    this.size = Math.min(this.#most, FIRST_WINDOW);
  }

  seen(records: number, bytes: number): void {
    if (records === 0) return;
    const fitting = Math.floor(this.#pageBytes / Math.max(1, bytes / records));
    this.size = Math.max(1, Math.min(this.#most, fitting));
  }
}
