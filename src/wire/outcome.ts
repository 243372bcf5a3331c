/** How an execution ended, as it leaves the engine: crosses from the worker process to the server and into JSON output. */
import type { ErrorKind } from '../lib/errors.ts';
import type { JsonValue } from '../lib/json.ts';

export interface OutcomeError {
  /** Stable snake_case code. */
  readonly code: string;
  /** Family, as dead-letter envelopes and metrics name it. */
  readonly kind: ErrorKind;
  /** Redacted sentence. */
  readonly message: string;
  readonly hint?: string;
}

/**
 * Where every record of an invocation went. Two balances must close, and an invocation whose balance does not close fails:
 * `read - filtered + expanded = transformed` and `transformed = written + dead_lettered + withheld`.
 */
export interface Balance {
  /** Records the source handed over. */
  readonly read: number;
  /** Records for which the transforms gave nothing. */
  readonly filtered: number;
  /** Records the transforms gave beyond one for one. */
  readonly expanded: number;
  readonly transformed: number;
  readonly written: number;
  readonly dead_lettered: number;
  /** Not written on purpose: beyond `--limit`, skipped because a committed token covers them, left out by the sink's own rule, or dropped by `poison`. */
  readonly withheld: number;
}

export interface InvocationOutcome {
  readonly invocation_id: string;
  readonly row_id: string;
  readonly parent_record_key: string | null;
  /** Connector kinds. */
  readonly source: string;
  readonly sink: string;
  readonly status: 'completed' | 'failed' | 'cancelled' | 'skipped';
  readonly balance: Balance;
  readonly bytes_read: number;
  readonly pages: number;
  readonly lane: string;
  readonly error: OutcomeError | null;
  /** RFC 3339, UTC. */
  readonly started_at: string;
  readonly finished_at: string;
  readonly duration_ms: number;
  /** The last stored bookmark, when the row has a state store. */
  readonly bookmark?: JsonValue;
}

export interface RunOutcome {
  readonly pipeline: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly started_at: string;
  readonly finished_at: string;
  readonly records_written: number;
  readonly invocations: readonly InvocationOutcome[];
  /** `N invocation(s) failed`, or what stopped the run as a whole. */
  readonly error: OutcomeError | null;
}

/** Live counts while a run executes. */
export interface Progress {
  readonly records_read: number;
  readonly records_written: number;
  readonly records_dead_lettered: number;
  readonly bytes_read: number;
  /** The row that moved last. */
  readonly row_id: string;
  readonly invocations_done: number;
}
