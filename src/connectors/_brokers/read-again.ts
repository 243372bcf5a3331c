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

export interface Patience {
  /** Without a policy of the document it goes on for so long after the first failure. */
  readonly forMs: number;
}

/**
 * Repeats a read that failed on the way, as `resilience.retry` of the document says; without it
 * twice, or for as long as `patience` says.
 */
export function readAgain(
  { env, retry: policy, signal }: SourceContext,
  { forMs }: Patience = { forMs: 0 },
) {
  const retry = requestRetry(policy, DEFAULTS, {});
  const endless = { ...retry, maxRetries: Infinity };
  return async <T>(read: () => Promise<T>): Promise<T> => {
    let firstMs: number | undefined;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await read();
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectorError)) throw error;
        firstMs ??= env.clock.elapsedMs();
        const isEarly = policy === undefined && env.clock.elapsedMs() - firstMs < forMs;
        const waitMs = waitBeforeRetry(error, attempt, isEarly ? endless : retry);
        if (waitMs === undefined) throw error;
        env.log.warn('reading again', { attempt: attempt + 1, error: error.message });
        await env.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
      }
    }
  };
}
