/**
 * How an execution ended, as it leaves the engine: crosses from the worker process to the server
 * and into JSON output.
 */
import type { ErrorKind } from '../lib/errors.ts';
import type { JsonValue } from '../lib/text/json.ts';
import type { WrittenFile } from '../lib/files/written-file.ts';

export interface OutcomeError {
  /** Stable snake_case code. */
  readonly code: string;
  /** Family, as dead-letter envelopes and metrics name it. */
  readonly kind: ErrorKind;
  /** Redacted sentence. */
  readonly message: string;
  readonly hint?: string;
  /** The place in the document: `pipeline.sink`, and the line where it is known. */
  readonly path?: string;
  readonly line?: number;
  readonly file?: string;
}

/** `pipeline.sink, line 6`, for people. */
export function documentPlace({
  path,
  line,
  file,
}: Pick<OutcomeError, 'path' | 'line' | 'file'>): string | undefined {
  if (path === undefined) return undefined;
  const where = line === undefined ? '' : `, line ${line}`;
  return `${path}${where}${file === undefined ? '' : ` of ${file}`}`;
}

/** What the log says of a failure; where somebody prints it in full, only its code. */
export function failureFacts(
  error: OutcomeError,
  isPrinted: boolean | undefined,
): Record<string, string | undefined> {
  const { code, message, hint } = error;
  return isPrinted === true ? { code } : { code, error: message, at: documentPlace(error), hint };
}

/**
 * Where every record of an invocation went. Two balances must close, and an invocation whose
 * balance does not close fails: `read - filtered + expanded = transformed` and `transformed =
 * written + dead_lettered + withheld`.
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
  /**
   * Not written on purpose: beyond `--limit`, skipped because a committed token covers them, left
   * out by the sink's own rule, or dropped by `poison`.
   */
  readonly withheld: number;
}

/**
 * Why records were withheld: `limit` of the run, `committed` before this run, `sink` left them out,
 * `poison` dropped them, `undurable` ones are read again by the next run, `discarded` ones were
 * written and thrown away, because the row did not complete.
 */
export const WITHHELD_REASONS = [
  'limit',
  'committed',
  'sink',
  'poison',
  'undurable',
  'discarded',
] as const;
export type WithheldReason = (typeof WITHHELD_REASONS)[number];

/** An expectation of a row that its run did not meet. */
export interface SlaViolation {
  readonly kind: 'staleness' | 'min_rows' | 'volume';
  readonly message: string;
}

/** A field that was not written, because the destination has no column for it. */
export interface DroppedField {
  readonly field: string;
  /** Written records that had it. */
  readonly records: number;
}

/** Files of this machine that a sink wrote. */
export interface WrittenFiles {
  /** Canonical address of the data set they belong to: the same on every day. */
  readonly dataset_uri: string;
  readonly files: readonly WrittenFile[];
}

export interface InvocationOutcome {
  readonly invocation_id: string;
  /**
   * Id of the row; `{row}::partition::{chunk}` for a chunk of one, `{row}::shard::{shard}` for a
   * shard.
   */
  readonly row_id: string;
  /** Key of the parent record, or the tuple of a row with `for_each`: `alias=value&…`. */
  readonly parent_record_key: string | null;
  /** Connector kinds; the sink of a fan-out row is empty. */
  readonly source: string;
  readonly sink: string;
  readonly status: 'completed' | 'failed' | 'cancelled' | 'skipped';
  readonly balance: Balance;
  /** Present when records were withheld: how many for which reason. */
  readonly withheld_by?: Readonly<Partial<Record<WithheldReason, number>>>;
  /** Present when written records break a contract that only warns: how many do. */
  readonly contract_breaches?: number;
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
  /** Present when there are any; the first hundred names. */
  readonly dropped_fields?: readonly DroppedField[];
  /** Present when the destination does not hold some values exactly: in how many records. */
  readonly rounded_fields?: readonly DroppedField[];
  /** Present when there are any. */
  readonly sla_violations?: readonly SlaViolation[];
  /** Present when there are any. */
  readonly outputs?: WrittenFiles;
}

/**
 * What went through a node of a graph that is no sink: `records_in - filtered + expanded -
 * dead_lettered = records_out`.
 */
export interface NodeOutcome {
  readonly id: string;
  readonly kind: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** Records read, or taken from the edges. */
  readonly records_in: number;
  /** Records dropped by a transform, kept by a join to match others against, or without a match. */
  readonly filtered: number;
  /**
   * Records beyond one for one: of a transform, of several matches, or of the further edges of a
   * tee.
   */
  readonly expanded: number;
  /** Records handed on, over all edges. */
  readonly records_out: number;
  /** Present when there are any. */
  readonly dead_lettered?: number;
  readonly error: OutcomeError | null;
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
  /** The nodes before the sinks of a graph; sinks are invocations. */
  readonly nodes?: readonly NodeOutcome[];
  /** What the document says about the files it writes; present when it says something. */
  readonly local_outputs?: {
    readonly track: boolean;
    readonly retention_days?: number | undefined;
  };
}

/**
 * What the ledger of output files is told: of files as they are opened, and of all of them by the
 * outcome of the run.
 */
export interface OutputNews extends Pick<RunOutcome, 'pipeline' | 'local_outputs'> {
  readonly invocations: readonly Pick<
    InvocationOutcome,
    'row_id' | 'sink' | 'outputs' | 'started_at' | 'finished_at'
  >[];
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
