/** A signal that fires when `outer` does or when time is up; dispose it when the work is done. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timeoutMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Time was up, as opposed to the outer signal firing. */
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

  /** Gives the full time again. */
  restart(): void {
    this.pause();
    if (this.#timeoutMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#controller.abort(new Error('time is up'));
    }, this.#timeoutMs);
  }

  /** Stops the time while somebody else is busy. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.pause();
    this.#outer.removeEventListener('abort', this.#pass);
  }

  readonly #pass = (): void => this.#controller.abort(this.#outer.reason);
}
