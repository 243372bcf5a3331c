/** Connections of a run, at most as many as the config allows. */
import type { PartContext } from '../../kit/context.ts';
import { untilAborted } from '../../lib/sql/until-aborted.ts';
import { Link } from '../_mssql/connection.ts';
import { mssqlError } from '../_mssql/errors.ts';
import type { MssqlCdcConfig } from './config.ts';

export class Links {
  readonly most: number;
  readonly #config: MssqlCdcConfig;
  readonly #signal: AbortSignal;
  readonly #idle: Link[] = [];
  readonly #open = new Set<Link>();
  /** Including those that are being made. */
  #count = 0;
  #waiting: (() => void)[] = [];

  constructor(config: MssqlCdcConfig, { signal }: Pick<PartContext, 'signal'>) {
    this.#config = config;
    this.#signal = signal;
    this.most = config.max_connections;
  }

  /** Waits until one is free; the caller gives it back. */
  async take(): Promise<Link> {
    for (;;) {
      this.#signal.throwIfAborted();
      const idle = this.#idle.pop();
      if (idle !== undefined && !idle.isOver) return idle;
      if (idle !== undefined) this.#forget(idle);
      else if (this.#count < this.most) return this.#connect();
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** `isClean`: its last statement is over. */
  giveBack(link: Link, isClean: boolean): void {
    if (isClean && !link.isOver) this.#idle.push(link);
    else this.#forget(link);
    this.#wake();
  }

  /** Runs a statement, or several, on one of them. */
  async using<T>(doing: string, ask: (link: Link) => Promise<T>): Promise<T> {
    const link = await this.take();
    let isClean = false;
    try {
      const answer = await this.until(link, ask(link));
      isClean = true;
      return answer;
    } catch (error) {
      throw this.failure(error, doing);
    } finally {
      this.giveBack(link, isClean);
    }
  }

  /** Settles as the work does, but for the stop of the run, which ends the statement too. */
  until<T>(link: Link, work: Promise<T>): Promise<T> {
    return untilAborted(work, { signal: this.#signal, cancel: () => link.cancel() });
  }

  failure(error: unknown, doing: string): unknown {
    return this.#signal.aborted ? error : mssqlError(error, doing);
  }

  close(): void {
    for (const link of this.#open) link.close();
    this.#open.clear();
    this.#idle.length = 0;
    this.#wake();
  }

  async #connect(): Promise<Link> {
    this.#count += 1;
    try {
      const { statement_timeout_secs: timeoutSecs } = this.#config;
      const link = await Link.open(this.#config, { signal: this.#signal, timeoutSecs });
      this.#open.add(link);
      return link;
    } catch (error) {
      this.#count -= 1;
      this.#wake();
      throw error;
    }
  }

  #forget(link: Link): void {
    link.close();
    this.#open.delete(link);
    this.#count -= 1;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}
