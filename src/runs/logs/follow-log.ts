/** The log of a run for its readers: from memory where it executes, else as it is stored. */
import type { History } from '../../history/history.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { isTerminal, type RunStatus } from '../../wire/run-status.ts';
import type { LogEvent, StoredLog } from '../service/runs.ts';
import { timeOfLine } from './log-writer.ts';
import type { RunLog } from './run-log.ts';

/** How often the stored log of a run is looked at that executes on another server. */
const LOOK_MS = 200;
const PAGE_LINES = 1000;
/** After this the lines of a run in shards are there in their order. */
const SETTLED_MS = 2000;

export interface LogFollowerOptions {
  /** What is in memory of it. */
  readonly logOf: (runId: string) => RunLog | undefined;
  readonly clock: Clock;
  readonly ask: <T>(work: (history: History) => Promise<T>) => Promise<T>;
  /** Rejects when there is no such run. */
  readonly statusOf: (runId: string) => Promise<RunStatus>;
  /** Runs may execute on other servers, which store their logs. */
  readonly isShared: boolean;
  readonly isStored: boolean;
}

export class LogFollower {
  readonly #options: LogFollowerOptions;

  constructor(options: LogFollowerOptions) {
    this.#options = options;
  }

  async follow(runId: string, signal: AbortSignal): Promise<AsyncIterable<LogEvent>> {
    const { statusOf, logOf, isShared } = this.#options;
    const status = await statusOf(runId);
    const log = logOf(runId);
    if (log !== undefined) return this.#onwards(runId, log.follow(signal), signal);
    return isShared && !isTerminal(status) ? this.#followStored(runId, -1, signal) : onlyEnd();
  }

  async continue(
    runId: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogEvent> | undefined> {
    const { statusOf, logOf, isShared } = this.#options;
    const status = await statusOf(runId);
    const log = logOf(runId);
    const isEnded = isTerminal(status);
    if (log !== undefined && !log.isOver(after))
      return this.#onwards(runId, log.follow(signal, after), signal);
    if (!isShared) return undefined;
    const isOver = isEnded && (await this.read(runId, { after, limit: 1 })).lines.length === 0;
    return isOver ? undefined : this.#followStored(runId, after, signal);
  }

  async read(
    runId: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<StoredLog> {
    if (!this.#options.isStored) return { lines: [], truncated: false };
    return this.#options.ask((history) => history.readLog(runId, range));
  }

  /** Its execution here is over; it may go on elsewhere. */
  async *#onwards(
    runId: string,
    events: AsyncIterable<LogEvent>,
    signal: AbortSignal,
  ): AsyncGenerator<LogEvent, void, undefined> {
    let last = -1;
    for await (const event of events) {
      if (event.type === 'log') last = event.seq;
      if (
        event.type !== 'end' ||
        !this.#options.isShared ||
        (await this.#hasEnded(runId)) !== false
      )
        yield event;
      else yield* this.#followStored(runId, last, signal);
    }
  }

  async *#followStored(
    runId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<LogEvent, void, undefined> {
    for (let at = after; !signal.aborted;) {
      // Asked first: the log of a run that has ended is complete.
      const hasEnded = await this.#hasEnded(runId);
      const range = { after: at, limit: PAGE_LINES };
      const { lines } = await this.read(runId, range).catch(nothingWhileAway);
      let isAhead = false;
      for (const { seq, line } of lines) {
        isAhead = hasEnded !== true && this.#mayBePreceded(seq);
        if (isAhead) break;
        yield { type: 'log', seq: (at = seq), line };
      }
      if (lines.length === PAGE_LINES && !isAhead) continue;
      if (hasEnded === true) {
        yield { type: 'end', seq: at + 1 };
        return;
      }
      await this.#options.clock.sleep(LOOK_MS, signal);
    }
  }

  /** Lines of other servers may still come between those of shards that were taken just now. */
  #mayBePreceded(seq: number): boolean {
    const at = timeOfLine(seq);
    return at !== undefined && at > this.#options.clock.now().getTime() - SETTLED_MS;
  }

  /** Undefined while the history does not answer. */
  async #hasEnded(runId: string): Promise<boolean | undefined> {
    try {
      return isTerminal(await this.#options.statusOf(runId));
    } catch (error) {
      // It was deleted.
      if (!(error instanceof RefusedError)) throw error;
      return error.code === 'unavailable' ? undefined : true;
    }
  }
}

function nothingWhileAway(error: unknown): StoredLog {
  if (error instanceof RefusedError && error.code === 'unavailable')
    return { lines: [], truncated: false };
  throw error;
}

async function* onlyEnd(): AsyncGenerator<LogEvent, void, undefined> {
  yield { type: 'end' };
}
