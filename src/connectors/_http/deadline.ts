/**
 * A signal that fires when `outer` fires or when the time is over; dispose it when the work is
 * done.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timeoutMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** True when the time was over, false when the outer signal fired. */
  expired = false;

  constructor(outer: AbortSignal, timeoutMs: number | undefined) {
    this.#outer = outer;
    this.#timeoutMs = timeoutMs;
    if (outer.aborted) this.#pass();
    else outer.addEventListener('abort', this.#pass, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the full time again. */
  restart(): void {
    this.pause();
    if (this.#timeoutMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#controller.abort(new Error('time is up'));
    }, this.#timeoutMs);
  }

  /** Stops the timer, for example while the consumer works. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.pause();
    this.#outer.removeEventListener('abort', this.#pass);
  }

  readonly #pass = (): void => this.#controller.abort(this.#outer.reason);
}
