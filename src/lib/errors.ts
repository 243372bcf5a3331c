import type { JsonValue } from './text/json.ts';

/**
 * The error families of the product. Everything a user can cause is one of these; anything else is
 * a bug.
 *
 * `code` is stable snake_case; `message` says what is wrong in one sentence; `hint` says what to
 * do. Exit codes and HTTP statuses are decided from the family and the code in one table each
 * (`cli/framework/exit.ts`, `server/errors.ts`).
 */
export class AppError extends Error {
  readonly code: string;
  readonly hint?: string;

  constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    if (options.hint !== undefined) this.hint = options.hint;
  }
}

/** One error or warning about a document or a settings file. */
export interface Issue {
  /** Stable snake_case code, e.g. `unknown_key`. The catalogue is `document/parse/issues.ts`. */
  readonly code: string;
  /**
   * Place in the document: `matrix[2].sink.config.write_mode`; empty for the document as a whole.
   */
  readonly path: string;
  readonly message: string;
  /** What to do, as a sentence or question: `did you mean "query"?` */
  readonly hint?: string;
  /** 1-based place in the text, when the text is known. */
  readonly line?: number;
  readonly column?: number;
  /** The file, when the document was composed from several. */
  readonly file?: string;
}

/** The stage at which a document was refused; decides between status 400 and 422. */
export type ConfigStage = 'parse' | 'interpolate' | 'validate';

/** A document that cannot be used. Carries every issue found, not only the first. */
export class ConfigError extends AppError {
  readonly issues: readonly Issue[];
  readonly stage: ConfigStage;

  constructor(issues: readonly Issue[], options: { stage?: ConfigStage; cause?: unknown } = {}) {
    super('bad_config', summarize(issues), options);
    this.issues = issues;
    this.stage = options.stage ?? 'validate';
  }
}

function summarize(issues: readonly Issue[]): string {
  const [first] = issues;
  if (first === undefined) return 'the document is not valid';
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return formatIssue(first) + more;
}

/** One line for a person: place, message, hint. */
export function formatIssue(issue: Issue): string {
  const position =
    issue.line === undefined
      ? ''
      : ` (line ${issue.line}${issue.column === undefined ? '' : `, column ${issue.column}`})`;
  const file = issue.file === undefined ? '' : `${issue.file}: `;
  const place = issue.path === '' ? '' : `${issue.path}${position}: `;
  const hint = issue.hint === undefined ? '' : ` — ${issue.hint}`;
  return `${file}${place === '' && position !== '' ? `${position.trim()}: ` : place}${issue.message}${hint}`;
}

/** How a connector failed; decides retrying and metric labels. */
export type ConnectorErrorKind =
  | 'connection'
  | 'timeout'
  | 'rate_limited'
  | 'http_5xx'
  | 'auth'
  | 'missing'
  | 'refused'
  | 'data';

/** Kinds after which the same operation can succeed when it is repeated. */
export const TRANSIENT_KINDS = ['http_5xx', 'rate_limited', 'connection', 'timeout'] as const;

export function isTransient(kind: ConnectorErrorKind): boolean {
  return (TRANSIENT_KINDS as readonly ConnectorErrorKind[]).includes(kind);
}

/** A source, sink or store that failed as a whole. The message never holds a secret. */
export class ConnectorError extends AppError {
  readonly kind: ConnectorErrorKind;
  /** The wait that the server requested, in milliseconds (`Retry-After`). */
  readonly retryAfterMs?: number;
  /** The HTTP status, when there was one. */
  readonly status?: number;
  /** Index of the record that a sink could not write, among those of the write. */
  readonly record?: number;

  constructor(
    kind: ConnectorErrorKind,
    message: string,
    options: {
      /** Where it is more than its kind says; `connector_` and the kind otherwise. */
      code?: string;
      hint?: string;
      cause?: unknown;
      retryAfterMs?: number;
      status?: number;
      record?: number;
    } = {},
  ) {
    super(options.code ?? `connector_${kind}`, message, options);
    this.kind = kind;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.status !== undefined) this.status = options.status;
    if (options.record !== undefined) this.record = options.record;
  }
}

/** Kinds of a dead-letter envelope and of the `kind` metric label. */
export type ErrorKind =
  | 'Http'
  | 'HttpStatus'
  | 'Json'
  | 'JsonPath'
  | 'Auth'
  | 'RateLimited'
  | 'Url'
  | 'Transform'
  | 'Config'
  | 'Source'
  | 'Sink'
  | 'QualityFailure'
  | 'SchemaDrift'
  | 'ContractViolation'
  | 'State'
  | 'CircuitOpen'
  | 'Custom'
  | 'Panic';

/**
 * A record that cannot be processed; it goes to the dead-letter queue, or fails the run where there
 * is none.
 */
export class RecordError extends AppError {
  readonly kind: ErrorKind;
  /** What is wrong with it, for whoever knows which values may be shown. */
  readonly fault?: FieldFault;
  /** Index of the record in its page, where it is known. */
  readonly index?: number;

  constructor(kind: ErrorKind, message: string, options: RecordErrorOptions = {}) {
    super('record_error', message, options);
    this.kind = kind;
    if (options.fault !== undefined) this.fault = options.fault;
    if (options.index !== undefined) this.index = options.index;
  }
}

export interface FieldFault {
  readonly field: string;
  readonly value: JsonValue;
  /** The policy of the document: the record goes to the dead-letter queue. */
  readonly diverts: boolean;
}

export interface RecordErrorOptions {
  readonly hint?: string;
  readonly cause?: unknown;
  readonly fault?: FieldFault;
  readonly index?: number;
}

/**
 * A run that was ended by a rule (quality abort, contract breach, budget, drift …); `kind` names
 * the rule.
 */
export class RunError extends AppError {
  readonly kind: ErrorKind;
  /** The place in the document that it is about, for people. */
  readonly at?: string;
  /** Index of the record that broke the rule, in its page, where it is known. */
  readonly index?: number;

  constructor(
    kind: ErrorKind,
    code: string,
    message: string,
    options: { hint?: string; cause?: unknown; index?: number; at?: string } = {},
  ) {
    super(code, message, options);
    this.kind = kind;
    if (options.index !== undefined) this.index = options.index;
    if (options.at !== undefined) this.at = options.at;
  }
}

/** Why a request is refused; `server/errors.ts` has the status of each code. */
export type RefusalCode =
  | 'bad_config'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'queue_full'
  | 'unavailable';

/** A refused request. `details` is copied to the error response. */
export class RefusedError extends AppError {
  declare readonly code: RefusalCode;
  readonly details?: unknown;

  constructor(
    code: RefusalCode,
    message: string,
    options: { hint?: string; cause?: unknown; details?: unknown } = {},
  ) {
    super(code, message, options);
    if (options.details !== undefined) this.details = options.details;
  }
}

/**
 * Why an `AbortSignal` fired. `cancel` and `timeout` are cooperative (page boundary, then flush);
 * `kill` is now.
 */
export class StopReason extends AppError {
  readonly why: 'cancel' | 'timeout' | 'shutdown' | 'sibling_failed' | 'kill';

  constructor(why: StopReason['why'], message: string) {
    super(`stopped_${why}`, message);
    this.why = why;
  }
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What is wrong and what to do, in one line. */
export function adviceOf(error: unknown): string {
  const hint = error instanceof AppError && error.hint !== undefined ? ` — ${error.hint}` : '';
  return messageOf(error) + hint;
}

export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`cannot happen: ${sentence}`);
}
