import type { ConnectorErrorKind } from '../errors.ts';

/**
 * The kind of error for an HTTP status. Only 429 and 5xx may be retried. `timeout` means a request
 * without a response, so 408 and 504, which are responses, are not timeouts.
 */
export function kindOfStatus(status: number): ConnectorErrorKind {
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'http_5xx';
  if (status === 401 || status === 403 || status === 407) return 'auth';
  if (status === 404 || status === 410) return 'missing';
  return 'refused';
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
