/** Messages that came and are in no page yet: bounded, by asking the sender to wait. */
import type { Sized } from '../_files/lines/cut-pages.ts';

export class MessageQueue {
  readonly #bound: number;
  /** Called with true when there is too much in it, and with false when there is room again. */
  readonly #onFull: (isFull: boolean) => void;
  #messages: Sized[] = [];
  #bytes = 0;
  #isFull = false;
  #end: { readonly error?: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(bound: number, onFull: (isFull: boolean) => void) {
    this.#bound = bound;
    this.#onFull = onFull;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  push(message: Required<Pick<Sized, 'value' | 'size'>>): void {
    if (this.hasEnded) return;
    this.#messages.push(message);
    this.#bytes += message.size;
    if (this.#bytes > this.#bound) this.#setFull(true);
    this.#wake.resolve();
  }

  /** Nothing comes any more; what came is still taken. With an error, whoever takes gets it last. */
  end(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end;
    this.#wake.resolve();
  }

  /** All that came; none when nothing does before the promise settles, `undefined` at the end. */
  async take(until?: Promise<unknown>): Promise<readonly Sized[] | undefined> {
    const { promise } = this.#wake;
    if (this.#messages.length === 0 && !this.hasEnded)
      await (until === undefined ? promise : Promise.race([promise, until]));
    this.#wake = Promise.withResolvers();
    const taken = this.#messages;
    this.#messages = [];
    this.#bytes = 0;
    this.#setFull(false);
    if (taken.length > 0 || this.#end === undefined) return taken;
    if ('error' in this.#end) throw this.#end.error;
    return undefined;
  }

  #setFull(isFull: boolean): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#onFull(isFull);
  }
}
