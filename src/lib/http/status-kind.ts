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
 * `Retry-After`: seconds or an HTTP date (RFC 9110, 10.2.3); `undefined` when it cannot be read, and
 * when it is over: such an answer leaves the wait to who asks, whose attempts would be gone at once.
 */
export function retryAfterMs(value: string | null, now: Date): number | undefined {
  const text = value?.trim() ?? '';
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : /[a-z]/i.test(text)
      ? Date.parse(text) - now.getTime()
      : NaN;
  return ms > 0 ? ms : undefined;
}
