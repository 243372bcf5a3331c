/** What BigQuery says when it does not do what it was asked for. */
import { ConnectorError, type ConnectorErrorKind } from '../../lib/errors.ts';
import { kindOfStatus } from '../../lib/http/status-kind.ts';
import type { Redactor } from '../../lib/redact.ts';
import { excerptOf } from '../../lib/text/excerpt.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';

/** By the `reason` of an error, which says more than its status. */
const KINDS: Readonly<Record<string, ConnectorErrorKind>> = {
  accessDenied: 'auth',
  authError: 'auth',
  billingNotEnabled: 'auth',
  invalidCredentials: 'auth',
  required: 'auth',
  notFound: 'missing',
  rateLimitExceeded: 'rate_limited',
  userRateLimitExceeded: 'rate_limited',
  jobRateLimitExceeded: 'rate_limited',
  backendError: 'http_5xx',
  internalError: 'http_5xx',
  jobBackendError: 'http_5xx',
  jobInternalError: 'http_5xx',
  tableUnavailable: 'http_5xx',
  // A quota of a day is not there again after a pause of seconds.
  quotaExceeded: 'refused',
  duplicate: 'refused',
  invalid: 'refused',
  invalidQuery: 'refused',
  resourcesExceeded: 'refused',
  responseTooLarge: 'refused',
  stopped: 'refused',
};

const HINTS: Readonly<Record<string, string>> = {
  accessDenied:
    'grant the account the roles BigQuery Job User on the project and BigQuery Data Editor (or Data Viewer, to read) on the dataset',
  authError: 'check `auth`: BigQuery does not know who asks',
  invalidCredentials: 'check `auth`: BigQuery does not know who asks',
  billingNotEnabled: 'the project has no billing account, which this needs',
  quotaExceeded:
    'a quota of the project or table is used up: wait until it is renewed, or raise it',
  rateLimitExceeded: 'send fewer requests: raise `batch_size`, or lower the concurrency',
  resourcesExceeded: 'the query needs more than BigQuery gives to one: make it smaller',
  responseTooLarge: 'the result is too large to be returned: select fewer columns',
};

/** Two transactions, or statements, that changed one table; the later one was undone. */
const CONFLICT = /concurrent update/i;
const BUFFERED = /streaming buffer/i;

/** Reasons for which a job ended, as opposed to a request about it. */
const OF_JOBS = /^job|^tableUnavailable$/;

export class BigqueryError extends ConnectorError {
  readonly reason: string;
  /** Whether a job has ended with it: only a new job can succeed. */
  readonly endsJob: boolean;
  /** Whether another transaction changed the same table, so that this one was undone. */
  readonly isConflict: boolean;

  constructor(
    told: { readonly reason: string; readonly message: string; readonly status?: number },
    options: { readonly retryAfterMs?: number | undefined; readonly endsJob?: true } = {},
  ) {
    const { reason, message, status } = told;
    const isConflict = CONFLICT.test(message);
    const kind = isConflict
      ? 'rate_limited'
      : (KINDS[reason] ?? (status === undefined ? 'refused' : kindOfStatus(status)));
    const hint = BUFFERED.test(message)
      ? 'rows that were streamed cannot be changed for about half an hour: wait, or fill the table by `bulk_load` or upserts'
      : isConflict
        ? 'several runs change one table at the same time: let them run one after the other'
        : HINTS[reason];
    super(kind, `BigQuery refuses: ${message}`, {
      ...(hint === undefined ? {} : { hint }),
      ...(status === undefined ? {} : { status }),
      ...(options.retryAfterMs === undefined ? {} : { retryAfterMs: options.retryAfterMs }),
    });
    this.reason = reason;
    this.isConflict = isConflict;
    this.endsJob = options.endsJob ?? (isConflict || OF_JOBS.test(reason));
  }
}

/** `{reason, message}` of a job or a row, or of an answer. */
export interface ErrorProto {
  readonly reason: string;
  readonly message: string;
  readonly location: string;
}

export function errorProto(value: JsonValue | undefined, redactor: Redactor): ErrorProto {
  const { reason, message, location } = isObject(value) ? value : {};
  return {
    reason: typeof reason === 'string' ? reason : '',
    message: excerptOf(typeof message === 'string' ? message : '', redactor),
    location: typeof location === 'string' ? location : '',
  };
}

/** The error in the body of an answer; `undefined` where the body is none of BigQuery. */
export function answerError(
  body: JsonValue | undefined,
  answer: { readonly status: number; readonly retryAfterMs: number | undefined },
  redactor: Redactor,
): BigqueryError | undefined {
  const { error } = isObject(body) ? body : {};
  if (!isObject(error)) return undefined;
  const { errors, message } = error;
  const first = errorProto(Array.isArray(errors) ? errors[0] : undefined, redactor);
  const told = typeof message === 'string' ? excerptOf(message, redactor) : first.message;
  return new BigqueryError(
    { reason: first.reason, message: told, status: answer.status },
    { retryAfterMs: answer.retryAfterMs },
  );
}

export function isMissing(error: unknown): boolean {
  return error instanceof BigqueryError && error.reason === 'notFound';
}

export function isDuplicate(error: unknown): boolean {
  return error instanceof BigqueryError && error.reason === 'duplicate';
}
