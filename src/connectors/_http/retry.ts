import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import type { ConnectorError } from '../../lib/errors.ts';

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

const REPEATABLE: ReadonlySet<string> = new Set([
  'connection',
  'timeout',
  'rate_limited',
  'http_5xx',
]);

/**
 * How long to wait before the next try, or `undefined` when there is none. `attempt` is 0 after the
 * first try.
 */
export function waitBeforeRetry(
  error: ConnectorError,
  attempt: number,
  retry: RequestRetry,
): number | undefined {
  if (attempt >= retry.maxRetries || !REPEATABLE.has(error.kind)) return undefined;
  if (error.retryAfterMs === undefined) return backoffMs(retry, attempt);
  return error.retryAfterMs > LONGEST_WAIT_MS ? undefined : error.retryAfterMs;
}

/**
 * `Retry-After`: seconds or an HTTP date (RFC 9110, 10.2.3); `undefined` when it cannot be read.
 */
export function retryAfterMs(value: string | null, now: Date): number | undefined {
  if (value === null) return undefined;
  const trimmed = value.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed) * 1000;
  const date = Date.parse(trimmed);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}
