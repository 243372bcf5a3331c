/**
 * Who executes a queued run. One implementation now: worker processes of this instance
 * (`worker-pool.ts`); a durable engine on a shared database joins behind the same interface, which
 * is why a ticket carries owner and attempt.
 */
import type { MetricChange, MetricDefinition } from '../../lib/metrics/metrics.ts';
import type { LogLevel, LogLine } from '../../lib/log.ts';
import type { Movement } from '../../wire/catalog.ts';
import type { OutputNews, Progress, RunOutcome } from '../../wire/outcome.ts';
import type { ReplayTask } from '../../wire/dlq.ts';
import type { VerifyTask } from '../../wire/verify.ts';

/** Everything a worker needs to execute one run; plain JSON, it crosses a process boundary. */
export interface RunTicket {
  readonly runId: string;
  /**
   * Instance that owns the run, and which attempt this is: a stale owner's result is refused by the
   * history.
   */
  readonly owner: string;
  readonly attempt: number;
  /**
   * The document after load-time interpolation (`Document.tree`), as JSON: a waiting run then holds
   * one text instead of hundreds of objects. Held in memory only: it may hold secrets.
   */
  readonly document: string;
  readonly name: string;
  /** RFC 3339; what `${now.*}` renders. */
  readonly clock: string;
  readonly concurrency: number | null;
  readonly timeoutSecs: number | null;
  /** Present when its sources begin at the beginning, whatever positions are stored. */
  readonly anew?: true;
  /** Pipeline to which its measurements are added, in place of `name`. */
  readonly measuredAs?: string;
  /** Resolved secret values, for redaction in the worker. */
  readonly secrets: readonly string[];
  readonly logLevel: LogLevel;
  /** Present when the row is not to be run, but its destination compared with its source. */
  readonly verify?: VerifyTask;
  /**
   * Present when dead letters are to be sent through the document instead of records of its source.
   */
  readonly replay?: ReplayTask;
}

export interface RunListener {
  /**
   * A worker has the run: its time counts from now. At most once, and not at all when it never got
   * one.
   */
  begun(): void;
  log(lines: readonly LogLine[]): void;
  /** `definitions`: those this worker uses for the first time. */
  metrics(changes: readonly MetricChange[], definitions: readonly MetricDefinition[]): void;
  progress(progress: Progress): void;
  /** Files that it writes from now on. */
  opened?(news: OutputNews): void;
  /** What the run moved; told just before its end. */
  moved?(movements: readonly Movement[]): void;
}

/**
 * `crashed`: the worker died (out of memory, killed, spun past its grace); the sentence says how.
 */
export type RunEnd =
  | { readonly type: 'finished'; readonly outcome: RunOutcome }
  | { readonly type: 'crashed'; readonly reason: string };

export interface RunHandle {
  /** Never rejects. */
  readonly done: Promise<RunEnd>;
  /**
   * Cooperative: stop at the next page boundary, flush, end. A worker that does not answer within
   * the grace is killed.
   */
  stop(why: 'cancel' | 'timeout' | 'shutdown', graceMs: number): void;
}

export interface RunExecutor {
  start(ticket: RunTicket, listener: RunListener): RunHandle;
  /** Ends idle workers and kills what is left. */
  close(): Promise<void>;
}
