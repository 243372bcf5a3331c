import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Bodies that clients send when they are told to (`Expect: 100-continue`). Node would tell all of them
 * at once, also those whose request is refused by its head.
 */
export class HeldBodies {
  readonly #held = new WeakSet<IncomingMessage>();

  hold(request: IncomingMessage): void {
    this.#held.add(request);
  }

  /** It is going to be read. */
  call(request: IncomingMessage, response: ServerResponse): void {
    if (this.#held.delete(request)) response.writeContinue();
  }

  /** Nobody will ever say whether it comes. */
  has(request: IncomingMessage): boolean {
    return this.#held.has(request);
  }
}
