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

export interface ReadAgainOptions {
  /** Without a policy of the document it goes on for so long after the first failure. */
  readonly forMs?: number;
  /** Instead of the policy of the document, where the config of the source says something of it. */
  readonly retry?: RequestRetry;
  /**
   * Whether something that failed has not succeeded since. A read that gives nothing meanwhile, for
   * it waits no longer, is no success: the next one has the attempts that are left.
   */
  isFailing?(this: void): boolean;
}

interface Failures {
  count: number;
  firstMs: number | undefined;
}

/**
 * Repeats a read that failed on the way, as `resilience.retry` of the document says; without it
 * twice, or for as long as `forMs` says.
 */
export function readAgain(
  { env, retry: policy, signal }: SourceContext,
  { forMs = 0, retry = requestRetry(policy, DEFAULTS, {}), isFailing }: ReadAgainOptions = {},
) {
  const endless = { ...retry, maxRetries: Infinity };
  const none = (): Failures => ({ count: 0, firstMs: undefined });
  let before = none();
  return async <T>(read: () => Promise<T>): Promise<T> => {
    const failures = isFailing?.() === true ? before : none();
    before = failures;
    for (;;) {
      try {
        const found = await read();
        if (isFailing?.() !== true) before = none();
        return found;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectorError)) throw error;
        failures.firstMs ??= env.clock.elapsedMs();
        const isEarly = policy === undefined && env.clock.elapsedMs() - failures.firstMs < forMs;
        const waitMs = waitBeforeRetry(error, failures.count, isEarly ? endless : retry);
        if (waitMs === undefined) throw error;
        failures.count += 1;
        env.log.warn('reading again', { attempt: failures.count, error: error.message });
        await env.clock.sleep(waitMs, signal);
        signal.throwIfAborted();
      }
    }
  };
}
