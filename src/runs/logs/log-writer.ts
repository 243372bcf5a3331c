import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { LogLine } from '../../lib/log.ts';
import type { LogStore, RunLogLine } from '../../history/history.ts';
import { logLines, logsDropped } from '../service/metrics.ts';

const QUEUE_LINES = 16_384;
const BATCH_LINES = 256;
/**
 * Fewer lines wait for this long, or for the end of their run, which is stored in the same commit.
 */
const GATHER_MS = 50;

/** Lines of the end of a log that are kept at most, and then as many fewer of its beginning. */
const LAST_LINES = 1000;

export interface LogWriterOptions {
  readonly store: LogStore;
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  /** Lines between the first and the last ones of a longer log are dropped, and it says so. */
  readonly maxLinesPerRun: number;
}

/** Where the log of a run was cut. */
/** A shard of a run, whose lines are put among those of others by their time. */
interface LogPart {
  readonly run_id: string;
  /** Below `PARTS`. */
  readonly index: number;
}

/** Lines of shards have the time in their number, and behind it the shard. */
const PARTS = 1000;
/** No other log has numbers from here on. */
const FIRST_OF_PARTS = 1_000_000_000_000 * PARTS;

/** Milliseconds since 1970 when the line of this number was taken; undefined where it has none. */
export function timeOfLine(seq: number): number | undefined {
  return seq < FIRST_OF_PARTS ? undefined : Math.floor(seq / PARTS);
}

interface Mark {
  readonly runId: string;
  readonly seq: number;
  readonly ts: string;
}

interface Progress {
  /** The log to which the lines belong, when it is that of several at once. */
  readonly part?: LogPart;
  /** Number of the first line. */
  readonly first: number;
  /** Number of the next line. */
  next: number;
  /** Time of the last line of a part. */
  at: number;
  truncated: boolean;
  /** The last lines of a log that is long, the oldest first. They are stored when it has ended. */
  last: RunLogLine[];
}

/** Stores log lines behind the runs' back: bounded, in batches, never failing a run. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #firstLines: number;
  readonly #lastLines: number;
  readonly #runs = new Map<string, Progress>();
  #queue: RunLogLine[] = [];
  readonly #marks: Mark[] = [];
  #writing = false;
  readonly #underway = new Set<Promise<void>>();

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#lastLines = Math.min(LAST_LINES, options.maxLinesPerRun >> 1);
    this.#firstLines = options.maxLinesPerRun - this.#lastLines;
  }

  push(runId: string, lines: readonly LogLine[]): void {
    const progress = this.#progressOf(runId);
    for (const { ts, level, line } of lines) {
      const isFirst = progress.next - progress.first < this.#firstLines;
      if (isFirst && this.#queue.length >= QUEUE_LINES) {
        this.#dropped('queue_full', 1);
        continue;
      }
      const { part } = progress;
      const seq = part === undefined ? progress.next : this.#seqOfPart(progress, part);
      const numbered = { run_id: part?.run_id ?? runId, seq, ts, level, line };
      if (isFirst) this.#queue.push(numbered);
      else this.#keepLast(progress, numbered);
      progress.next += 1;
    }
    if (!this.#writing) void this.#write();
  }

  /** The lines of this run begin with another number than 0. Called before the first one. */
  open(runId: string, first: number): void {
    this.#runs.set(runId, { first, next: first, at: 0, truncated: false, last: [] });
  }

  /** The lines of this run belong to the log of another one. Called before the first one. */
  openPart(runId: string, part: LogPart): void {
    this.#runs.set(runId, { part, first: 0, next: 0, at: 0, truncated: false, last: [] });
  }

  #seqOfPart(progress: Progress, { index }: LogPart): number {
    progress.at = Math.max(progress.at + 1, this.#options.env.clock.now().getTime());
    return progress.at * PARTS + (index % PARTS);
  }

  /**
   * Hands everything pushed so far to the store, before anything that is asked of it later;
   * resolves when it is stored or dropped. The log of `ended` is complete.
   */
  async flush(ended?: string): Promise<void> {
    if (ended !== undefined) this.#storeLast(ended);
    while (this.#waits) void this.#storeSome();
    await Promise.all(this.#underway);
  }

  /** The run has ended and pushes no more. */
  forget(runId: string): void {
    this.#runs.delete(runId);
  }

  #progressOf(runId: string): Progress {
    let progress = this.#runs.get(runId);
    if (progress === undefined) {
      progress = { first: 0, next: 0, at: 0, truncated: false, last: [] };
      this.#runs.set(runId, progress);
    }
    return progress;
  }

  #keepLast(progress: Progress, line: RunLogLine): void {
    const { last } = progress;
    last.push(line);
    // Cut now and then, and not with every line.
    if (last.length > 2 * this.#lastLines) this.#dropMiddle(progress);
  }

  #dropMiddle(progress: Progress): void {
    const gone = progress.last.splice(0, progress.last.length - this.#lastLines);
    const [first] = gone;
    if (first === undefined) return;
    this.#dropped('per_run_cap', gone.length);
    if (progress.truncated) return;
    progress.truncated = true;
    this.#marks.push({ runId: first.run_id, seq: first.seq - 1, ts: first.ts });
  }

  /** The log has ended: its last lines follow the first, and what says that some are missing. */
  #storeLast(runId: string): void {
    const progress = this.#runs.get(runId);
    if (progress === undefined) return;
    this.#dropMiddle(progress);
    const lines = progress.last.splice(0);
    this.#queue.push(...lines);
    const end = lines.at(-1);
    if (progress.truncated && end !== undefined)
      this.#marks.push({ runId: end.run_id, seq: end.seq, ts: end.ts });
  }

  get #waits(): boolean {
    return this.#queue.length > 0 || this.#marks.length > 0;
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waits) {
      if (this.#queue.length < BATCH_LINES) await this.#options.env.clock.sleep(GATHER_MS);
      if (this.#waits) await this.#storeSome();
    }
    this.#writing = false;
  }

  #storeSome(): Promise<void> {
    const batch = this.#queue.splice(0, BATCH_LINES);
    const marks = this.#queue.length === 0 ? this.#marks.splice(0) : [];
    const stored = this.#store(batch, marks).finally(() => this.#underway.delete(stored));
    this.#underway.add(stored);
    return stored;
  }

  async #store(batch: readonly RunLogLine[], marks: readonly Mark[]): Promise<void> {
    const { store, env } = this.#options;
    try {
      const writes = batch.length === 0 ? [] : [store.appendLog(batch)];
      await Promise.all([
        ...writes,
        ...marks.map(({ runId, seq, ts }) => store.markLogTruncated(runId, { seq, ts })),
      ]);
      env.metrics.inc(logLines, {}, batch.length);
    } catch (error) {
      this.#dropped('backend_error', batch.length);
      env.log.warn('log lines of runs could not be stored', {
        lines: batch.length,
        error: messageOf(error),
      });
    }
  }

  #dropped(reason: 'queue_full' | 'backend_error' | 'per_run_cap', lines: number): void {
    this.#options.env.metrics.inc(logsDropped, { reason }, lines);
  }
}
