/**
 * Every error the API answers with: the one table of codes and statuses, and how a thrown thing
 * becomes an answer.
 */
import { HistoryError } from '../history/history.ts';
import {
  adviceOf,
  ConfigError,
  formatIssue,
  RefusedError,
  type Issue,
  type RefusalCode,
} from '../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../lib/text/json.ts';
import type { Redactor } from '../lib/redact.ts';

export interface ErrorKindOfAnswer {
  readonly status: number;
  /** When it is answered; printed in the API description. */
  readonly when: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Seconds a client should wait when the run queue is full. */
const QUEUE_RETRY_SECS = 5;

export const ERRORS = {
  bad_config: {
    status: 400,
    when: 'The request, or the document in it, cannot be read: malformed body, parameter or reference.',
  },
  unauthorized: {
    status: 401,
    when: 'The bearer token is missing or unknown.',
    headers: { 'www-authenticate': 'Bearer' },
  },
  forbidden: {
    status: 403,
    when: 'The role of the caller lacks the permission of the route, or a server without tokens is called for another host or from another site.',
  },
  not_found: { status: 404, when: 'There is no such path, id or name.' },
  method_not_allowed: {
    status: 405,
    when: 'The path exists, but not with this method; `Allow` lists those it has.',
  },
  request_timeout: { status: 408, when: 'The request did not arrive in time.' },
  conflict: { status: 409, when: 'The state of the resource does not permit it.' },
  payload_too_large: { status: 413, when: 'The body exceeds the configured limit.' },
  unsupported_media_type: { status: 415, when: 'The body is not declared as JSON.' },
  unprocessable: {
    status: 422,
    when: 'The document or the request was understood and is not valid.',
  },
  queue_full: {
    status: 429,
    when: 'The run queue is full; `Retry-After` says how many seconds to wait.',
    headers: { 'retry-after': String(QUEUE_RETRY_SECS) },
  },
  headers_too_large: { status: 431, when: 'The header fields are larger than the server reads.' },
  internal: { status: 500, when: 'A fault of the server; its log has the details.' },
  unavailable: { status: 503, when: 'The server cannot do this now; try again later.' },
} as const satisfies Readonly<
  Record<RefusalCode | 'request_timeout' | 'headers_too_large' | 'internal', ErrorKindOfAnswer>
>;

export type ErrorCode = keyof typeof ERRORS;

/** An error answer before it is sent; `details` is absent when there is nothing to add. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: unknown;
  /** True when the answer hides the cause; the cause is then written to the log. */
  readonly hidden: boolean;
}

export function statusOf(code: ErrorCode): number {
  return ERRORS[code].status;
}

export function headersOf(code: ErrorCode): Readonly<Record<string, string>> {
  const kind: ErrorKindOfAnswer = ERRORS[code];
  return kind.headers ?? {};
}

/** The body of every error answer, redacted. */
export function errorBody(failure: Failure, redactor: Redactor): string {
  const { code, details } = failure;
  const message = redactor.text(failure.message);
  const error =
    details === undefined ? { code, message } : { code, message, details: redactor.json(details) };
  return stringifyJson({ error } as JsonObject);
}

export function failureOf(error: unknown): Failure {
  if (error instanceof ConfigError) {
    const code = error.stage === 'validate' ? 'unprocessable' : 'bad_config';
    return {
      code,
      message: sentenceOf(error.issues) || error.message,
      details: { issues: error.issues.map(issueDetails) },
      hidden: false,
    };
  }
  if (error instanceof RefusedError) {
    const failure = { code: error.code, message: adviceOf(error), hidden: false };
    return error.details === undefined ? failure : { ...failure, details: error.details };
  }
  if (error instanceof HistoryError)
    return {
      code: 'unavailable',
      message: 'the history store does not answer — try again later',
      hidden: true,
    };
  return {
    code: 'internal',
    message: 'internal error; the server log has the details',
    hidden: true,
  };
}

/** `details` has the full list; the sentence stays readable. */
const ISSUES_IN_SENTENCE = 20;

function sentenceOf(issues: readonly Issue[]): string {
  const listed = issues.slice(0, ISSUES_IN_SENTENCE).map(formatIssue).join('; ');
  const more = issues.length - ISSUES_IN_SENTENCE;
  return more > 0 ? `${listed}; and ${more} more` : listed;
}

function issueDetails(issue: Issue): Record<string, unknown> {
  const { code, path, message, hint, line, column, file } = issue;
  return { code, path, message, hint, line, column, file };
}
