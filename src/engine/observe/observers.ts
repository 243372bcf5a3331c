import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { RunObserver } from './observer.ts';

type Tell = (observer: RunObserver) => void | Promise<void>;

/** Tells all observers of a run, each at its own pace. Never throws. */
export class Observers {
  readonly #lines: readonly Line[];

  constructor(observers: readonly RunObserver[], log: Log) {
    this.#lines = observers.map((observer) => new Line(observer, log));
  }

  tell(tell: Tell): void {
    for (const line of this.#lines) line.push(tell);
  }

  /** Resolves when everything has been told. */
  async settled(): Promise<void> {
    await Promise.all(this.#lines.map((line) => line.last));
  }
}

/** What one observer has still to be told, in order. */
class Line {
  last: Promise<void> = Promise.resolve();
  readonly #observer: RunObserver;
  readonly #log: Log;

  constructor(observer: RunObserver, log: Log) {
    this.#observer = observer;
    this.#log = log;
  }

  push(tell: Tell): void {
    this.last = this.last.then(() => this.#say(tell));
  }

  async #say(tell: Tell): Promise<void> {
    try {
      await tell(this.#observer);
    } catch (error) {
      this.#log.warn('what the run does could not be told', { to: this.#observer.name, error: messageOf(error) });
    }
  }
}
