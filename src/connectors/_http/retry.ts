import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import { isTransient, type ConnectorError } from '../../lib/errors.ts';

export interface RequestRetry extends BackoffPolicy {
  /** Repeats after the first try. */
  readonly maxRetries: number;
}

export const NO_RETRY: RequestRetry = Object.freeze<RequestRetry>({
  maxRetries: 0,
  backoff: 'none',
  baseMs: 0,
  maxMs: 0,
  jitter: false,
});

/** A server that asks for more than this is not waited for. */
const LONGEST_WAIT_MS = 3_600_000;

/**
 * How long to wait before the next try, or `undefined` when there is none. `attempt` is 0 after the
 * first try.
 */
export function waitBeforeRetry(
  error: ConnectorError,
  attempt: number,
  retry: RequestRetry,
): number | undefined {
  if (attempt >= retry.maxRetries || !isTransient(error.kind)) return undefined;
  if (error.retryAfterMs === undefined) return backoffMs(retry, attempt);
  return error.retryAfterMs > LONGEST_WAIT_MS ? undefined : error.retryAfterMs;
}
