import type { PartContext, RetryPolicy } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { RunRequest } from '../../lib/objects/object-store.ts';
import { ALL_TRANSIENT, requestRetry, waitBeforeRetry, type RequestRetry } from './retry.ts';

const RETRY: RequestRetry = {
  maxRetries: 4,
  backoff: 'exponential',
  baseMs: 200,
  maxMs: 30_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

export type Requesting = Pick<PartContext, 'env'> & { readonly retry?: RetryPolicy };

/** `resilience.retry` of the document says how often a request is repeated; else four times. */
export function retryOf({ retry }: Requesting): RequestRetry {
  return requestRetry(retry, RETRY, {});
}

/** `retry` where the part has settings of its own. */
export function runRequests(context: Requesting, retry = retryOf(context)): RunRequest {
  return async (what, signal, work) => {
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (!(await mayRepeat(error, { attempt, what, signal, context, retry }))) throw error;
      }
    }
  };
}

interface Failed {
  /** 0 after the first attempt. */
  readonly attempt: number;
  readonly what: string;
  readonly signal: AbortSignal;
  readonly context: Requesting;
  readonly retry?: RequestRetry;
}

/** Waits before the next attempt; false when there is none. */
export async function mayRepeat(
  error: unknown,
  { attempt, what, signal, context, retry = retryOf(context) }: Failed,
): Promise<boolean> {
  if (signal.aborted || !(error instanceof ConnectorError)) return false;
  const wait = waitBeforeRetry(error, attempt, retry);
  if (wait === undefined) return false;
  context.env.log.warn('a request failed; trying again', {
    reason: error.message,
    request: what,
    wait_ms: Math.round(wait),
  });
  await context.env.clock.sleep(wait, signal);
  return !signal.aborted;
}
