import type { Clock } from '../../lib/time/clock.ts';

/** Messages that a client handed over and nobody has taken yet. */
export class Inbox<M> {
  #messages: M[] = [];
  #at = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  get length(): number {
    return this.#messages.length - this.#at;
  }

  push(message: M): void {
    this.#messages.push(message);
    this.#wake.resolve();
  }

  /** Rejects the next wait, after all messages that came before were taken. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake.resolve();
  }

  take(): M | undefined {
    const message = this.#messages[this.#at];
    if (message === undefined) return undefined;
    this.#at += 1;
    if (this.#at === this.#messages.length) {
      this.#messages = [];
      this.#at = 0;
    }
    return message;
  }

  /** All that are left; a failure is forgotten. */
  drain(): M[] {
    const left = this.#messages.slice(this.#at);
    this.#messages = [];
    this.#at = 0;
    this.#failure = undefined;
    return left;
  }

  /** Waits for something to take, at most so long, or until the signal fires. */
  async arrival(
    ms: number,
    { clock, signal }: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
  ): Promise<void> {
    if (this.length === 0 && this.#failure === undefined) {
      this.#wake = Promise.withResolvers();
      const over = new AbortController();
      const until = AbortSignal.any([signal, over.signal]);
      await Promise.race([this.#wake.promise, clock.sleep(ms, until)]);
      over.abort();
    }
    if (this.length > 0 || this.#failure === undefined) return;
    const { error } = this.#failure;
    this.#failure = undefined;
    throw error;
  }
}
