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

export interface LogWriterOptions {
  readonly store: LogStore;
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  /** Later lines of a run are dropped, and the log says so. */
  readonly maxLinesPerRun: number;
}

/** Where the log of a run was cut. */
interface Mark {
  readonly runId: string;
  readonly seq: number;
  readonly ts: string;
}

interface Progress {
  /** Number of the next line. */
  next: number;
  truncated: boolean;
}

/** Stores log lines behind the runs' back: bounded, in batches, never failing a run. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #runs = new Map<string, Progress>();
  #queue: RunLogLine[] = [];
  readonly #marks: Mark[] = [];
  #writing = false;
  readonly #underway = new Set<Promise<void>>();

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  push(runId: string, lines: readonly LogLine[]): void {
    const progress = this.#progressOf(runId);
    for (const { ts, level, line } of lines) {
      if (progress.next >= this.#options.maxLinesPerRun) this.#dropBeyondCap(runId, progress, ts);
      else if (this.#queue.length >= QUEUE_LINES) this.#dropped('queue_full', 1);
      else {
        this.#queue.push({ run_id: runId, seq: progress.next, ts, level, line });
        progress.next += 1;
      }
    }
    if (!this.#writing) void this.#write();
  }

  /**
   * Hands everything pushed so far to the store, before anything that is asked of it later;
   * resolves when it is stored or dropped.
   */
  async flush(): Promise<void> {
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
      progress = { next: 0, truncated: false };
      this.#runs.set(runId, progress);
    }
    return progress;
  }

  #dropBeyondCap(runId: string, progress: Progress, ts: string): void {
    this.#dropped('per_run_cap', 1);
    if (progress.truncated) return;
    progress.truncated = true;
    this.#marks.push({ runId, seq: progress.next - 1, ts });
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
