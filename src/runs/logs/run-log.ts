/**
 * The live log of runs: a bounded ring each, replayed to followers. After the run has ended it is
 * kept for a while, as long as there is room for those of all that ended.
 */
import type { Clock } from '../../lib/time/clock.ts';
import type { LogLine } from '../../lib/log.ts';
import type { LogEvent } from '../service/runs.ts';

const RING_LINES = 10_000;
const DRAIN_MS = 60_000;
/** Of runs that have ended, so that their number per second does not decide how much is held. */
const ENDED_LOGS = 4096;
const ENDED_LINES = 100_000;

/**
 * Readers keep only a place in the ring; one that falls behind it gets the number of lines it
 * missed.
 */
export class RunLog {
  readonly #ring: string[] = [];
  readonly #capacity: number;
  /** Number of the first line. */
  readonly #first: number;
  /** Number of the next line; the line numbered `n` is at `n % capacity`. */
  #taken: number;
  #ended = false;
  /** Made for the first reader: most runs have none. */
  #waiting: Set<() => void> | undefined;

  constructor(capacity = RING_LINES, first = 0) {
    this.#capacity = capacity;
    this.#first = first;
    this.#taken = first;
  }

  push(lines: readonly LogLine[]): void {
    for (const { line } of lines) {
      this.#ring[this.#taken % this.#capacity] = line;
      this.#taken += 1;
    }
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Lines that are held. */
  get size(): number {
    return this.#ring.length;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Whether the event of this number was the last. */
  isOver(seq: number): boolean {
    return this.#ended && seq >= this.#taken;
  }

  /**
   * From the oldest line kept, or behind the line of a number, to the end of the run; stops early
   * when the signal fires.
   */
  async *follow(signal: AbortSignal, after?: number): AsyncGenerator<LogEvent, void, undefined> {
    const start =
      after === undefined || after < this.#first
        ? this.#oldest()
        : Math.min(after + 1, this.#taken);
    for (let at = start; !signal.aborted;) {
      const oldest = this.#oldest();
      if (at < oldest) {
        yield { type: 'truncated', dropped: oldest - at };
        at = oldest;
      } else if (at < this.#taken) {
        yield { type: 'log', seq: at, line: this.#ring[at % this.#capacity] ?? '' };
        at += 1;
      } else if (this.#ended) {
        yield { type: 'end', seq: this.#taken };
        return;
      } else {
        await this.#change(signal);
      }
    }
  }

  #oldest(): number {
    return Math.max(this.#first, this.#taken - this.#capacity);
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting?.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting ??= new Set();
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #wake(): void {
    for (const done of this.#waiting ?? []) done();
  }
}

interface EndedLog {
  readonly runId: string;
  readonly at: number;
  readonly lines: number;
}

export class RunLogs {
  readonly #clock: Clock;
  readonly #logs = new Map<string, RunLog>();
  /** In the order in which the runs ended. */
  readonly #ended: EndedLog[] = [];
  #endedLines = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** That of the run, which is made when there is none, or when it ended and the run begins again. */
  open(runId: string, first = 0): RunLog {
    let log = this.#logs.get(runId);
    if (log === undefined || log.hasEnded)
      this.#logs.set(runId, (log = new RunLog(RING_LINES, first)));
    return log;
  }

  /** Undefined when the run never had one here, or its log has expired. */
  get(runId: string): RunLog | undefined {
    this.expire();
    return this.#logs.get(runId);
  }

  end(runId: string): void {
    const log = this.#logs.get(runId);
    if (log !== undefined) {
      log.end();
      this.#ended.push({ runId, at: this.#clock.elapsedMs(), lines: log.size });
      this.#endedLines += log.size;
    }
    this.expire();
  }

  /** Lets go of logs whose run ended long enough ago, or for which there is no room. */
  expire(): void {
    const before = this.#clock.elapsedMs() - DRAIN_MS;
    const mayStay = ({ at }: EndedLog): boolean =>
      at >= before && this.#ended.length <= ENDED_LOGS && this.#endedLines <= ENDED_LINES;
    for (
      let first = this.#ended[0];
      first !== undefined && !mayStay(first);
      first = this.#ended[0]
    ) {
      this.#ended.shift();
      this.#endedLines -= first.lines;
      this.#logs.delete(first.runId);
    }
  }
}
