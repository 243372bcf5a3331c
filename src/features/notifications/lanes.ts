/**
 * Work in order where order matters: in one lane one thing after the other, different lanes at the
 * same time.
 */
export class Lanes {
  readonly #last = new Map<string, Promise<void>>();

  /** `work` never rejects. */
  async run<T>(lane: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(lane) ?? Promise.resolve();
    const result = before.then(work);
    const done = result.then(() => {});
    this.#last.set(lane, done);
    try {
      return await result;
    } finally {
      if (this.#last.get(lane) === done) this.#last.delete(lane);
    }
  }
}
