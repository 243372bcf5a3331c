import { markSpent } from '../../lib/spent-attempts.ts';
import { backoffMs, LONGEST_ASKED_WAIT_MS, type BackoffPolicy } from '../../lib/time/backoff.ts';
import type { RetryPolicy } from '../../kit/context.ts';
import { TRANSIENT_KINDS, type ConnectorError } from '../../lib/errors.ts';

export interface RequestRetry extends BackoffPolicy {
  /** Retries after the first attempt. */
  readonly maxRetries: number;
  /** Kinds of errors after which a request is repeated. */
  readonly on: RetryPolicy['on'];
}

export const NO_RETRY: RequestRetry = Object.freeze<RequestRetry>({
  maxRetries: 0,
  backoff: 'none',
  baseMs: 0,
  maxMs: 0,
  jitter: false,
  on: [],
});

/** Combines `resilience.retry` with `own`, the settings in the config of the connector. */
export function requestRetry(
  policy: RetryPolicy | undefined,
  defaults: RequestRetry,
  own: Partial<RequestRetry>,
): RequestRetry {
  if (policy === undefined) return { ...defaults, ...own };
  const { maxAttempts, ...waits } = policy;
  return { ...waits, maxRetries: Math.max(0, maxAttempts - 1), ...own };
}

export const ALL_TRANSIENT: RetryPolicy['on'] = TRANSIENT_KINDS;

/**
 * How long to wait before the next attempt, or `undefined` when there is none. `attempt` is 0 after
 * the first attempt. After the last of several the error is marked, so that the engine does not
 * repeat the whole as often again.
 */
export function waitBeforeRetry(
  error: ConnectorError,
  attempt: number,
  retry: RequestRetry,
): number | undefined {
  if (!(retry.on as readonly string[]).includes(error.kind)) return undefined;
  if (attempt >= retry.maxRetries) {
    if (attempt > 0) markSpent(error);
    return undefined;
  }
  if (error.retryAfterMs === undefined) return backoffMs(retry, attempt);
  return error.retryAfterMs > LONGEST_ASKED_WAIT_MS ? undefined : error.retryAfterMs;
}
