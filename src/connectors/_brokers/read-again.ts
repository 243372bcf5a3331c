import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { ALL_TRANSIENT, requestRetry, waitBeforeRetry, type RequestRetry } from '../_http/retry.ts';

const DEFAULTS: RequestRetry = {
  maxRetries: 2,
  backoff: 'exponential',
  baseMs: 500,
  maxMs: 10_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

/**
 * Repeats a read that failed on the way, as `resilience.retry` of the document says; without it
 * twice.
 */
export function readAgain({ env, retry: policy, signal }: SourceContext) {
  const retry = requestRetry(policy, DEFAULTS, {});
  return async <T>(read: () => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await read();
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectorError)) throw error;
        const waitMs = waitBeforeRetry(error, attempt, retry);
        if (waitMs === undefined) throw error;
        env.log.warn('reading again', { attempt: attempt + 1, error: error.message });
        await env.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
      }
    }
  };
}
