import { HistoryError, type AuditStore, type History } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { historyDegraded } from './metrics.ts';

const RETRY_MS = 1000;

/** Every use of the history passes through here, so that the server knows whether it answers. */
export class HistoryHealth {
  readonly #env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly #history: History;
  #ok = true;
  #probing: Promise<boolean> | undefined;

  constructor(history: History, env: Pick<Env, 'clock' | 'log' | 'metrics'>) {
    this.#history = history;
    this.#env = env;
    env.metrics.set(historyDegraded, {}, 0);
  }

  get ok(): boolean {
    return this.#ok;
  }

  /** For a request: a store that does not answer is a 503. */
  async ask<T>(work: (history: History) => Promise<T>): Promise<T> {
    try {
      const value = await work(this.#history);
      this.#answered();
      return value;
    } catch (error) {
      if (!(error instanceof HistoryError)) throw error;
      this.#note(error);
      throw new RefusedError('unavailable', 'the history store does not answer', {
        hint: 'try again later',
        cause: error,
      });
    }
  }

  /** The audit part of the history, asked like a request. */
  get audit(): AuditStore {
    return {
      recordAudit: (record) => this.ask((history) => history.recordAudit(record)),
      listAudit: (query) => this.ask((history) => history.listAudit(query)),
    };
  }

  /**
   * For what must be recorded: tries until the store answers. Rejects only when the signal fires.
   */
  async insist<T>(work: (history: History) => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        const value = await work(this.#history);
        this.#note(undefined);
        return value;
      } catch (error) {
        if (!(error instanceof HistoryError) || signal.aborted) throw error;
        this.#note(error);
        await this.#env.clock.sleep(RETRY_MS, signal);
      }
    }
  }

  /** Asks whether the store can be written now. Never rejects. */
  probe(): Promise<boolean> {
    return (this.#probing ??= this.#history
      .ping()
      .then(
        () => this.#note(undefined),
        (error: unknown) => this.#note(error),
      )
      .then(() => this.#ok)
      .finally(() => (this.#probing = undefined)));
  }

  /** A store that answers a read may still refuse writes: only a probe says that it is back. */
  #answered(): void {
    if (!this.#ok) void this.probe();
  }

  #note(error: unknown): void {
    const ok = error === undefined;
    if (ok === this.#ok) return;
    this.#ok = ok;
    this.#env.metrics.set(historyDegraded, {}, ok ? 0 : 1);
    if (ok) this.#env.log.info('the history store answers again');
    else this.#env.log.error('the history store does not answer', { error: messageOf(error) });
  }
}
