/**
 * Syncs of the disk, shared by writers: one sync serves all that were waiting when it began, and
 * the next one begins when others came meanwhile.
 */
import type { HistoryError } from '../history.ts';

/** Called with the failure of the sync, or without one when the disk has what it waited for. */
export type SyncWaiter = (failure: HistoryError | undefined) => void;

export class DiskSync {
  readonly #sync: () => Promise<HistoryError | undefined>;
  readonly #onIdle: () => void;
  readonly #onFailure: (failure: HistoryError) => void;
  /** Wait for a sync that begins after their commit. */
  #next: SyncWaiter[] = [];
  /** Wait for the sync under way. */
  #current: SyncWaiter[] = [];
  #running: Promise<void> | undefined;

  constructor(
    sync: () => Promise<HistoryError | undefined>,
    listener: {
      readonly onIdle: () => void;
      readonly onFailure: (failure: HistoryError) => void;
    },
  ) {
    this.#sync = sync;
    this.#onIdle = listener.onIdle;
    this.#onFailure = listener.onFailure;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Everything committed before this call is on the disk when the waiters are called. */
  add(waiters: readonly SyncWaiter[]): void {
    if (waiters.length === 0) return;
    this.#next.push(...waiters);
    this.#running ??= this.#run();
  }

  /** Resolves when everything committed so far is on the disk. */
  pending(): Promise<void> {
    const waiters = this.#next.length > 0 ? this.#next : this.#current;
    if (waiters.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      waiters.push((failure) => (failure === undefined ? resolve() : reject(failure)));
    });
  }

  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#next.length > 0) {
      this.#current = this.#next.splice(0);
      const failure = await this.#sync();
      for (const notify of this.#current.splice(0)) notify(failure);
      if (failure !== undefined) {
        for (const notify of this.#next.splice(0)) notify(failure);
        this.#onFailure(failure);
      }
    }
    this.#running = undefined;
    this.#onIdle();
  }
}
