import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { backoffMs, LONGEST_ASKED_WAIT_MS } from '../../lib/time/backoff.ts';
import { isSpent } from '../../lib/spent-attempts.ts';
import type { ConnectorError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import type { RetryPolicy } from '../../kit/context.ts';
import { connectorErrorOf } from '../failure.ts';
import type { Invocation } from '../row/invocation.ts';
import { giveups, retries, retrySleep } from '../metrics.ts';

export type RetriedOperation = 'sink_write' | 'flush' | 'state_put';

export interface RetryContext {
  readonly env: Env;
  readonly labels: { readonly pipeline: string; readonly row: string };
  readonly policy: RetryPolicy | undefined;
  /** A stop ends the wait at once and counts as giving up. */
  readonly signal: AbortSignal;
}

/** Runs `action`, repeating it as `resilience.retry` says; without a policy it runs once. */
export async function withRetry<T>(
  context: RetryContext,
  op: RetriedOperation,
  action: () => Promise<T>,
): Promise<T> {
  const { env, labels, policy, signal } = context;
  const attempts = policy?.maxAttempts ?? 1;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await action();
    } catch (error) {
      const cause = connectorErrorOf(error);
      if (policy === undefined || cause === undefined || !isRetriable(cause, policy)) throw error;
      const { retryAfterMs: askedMs = 0 } = cause;
      const isLast = attempt + 1 >= attempts || isSpent(error) || askedMs > LONGEST_ASKED_WAIT_MS;
      if (isLast || signal.aborted) {
        env.metrics.inc(giveups, { ...labels, op });
        throw error;
      }
      const waitMs = Math.max(backoffMs(policy, attempt), askedMs);
      env.log.warn('retrying', {
        op,
        attempt: attempt + 1,
        class: cause.kind,
        wait_ms: Math.round(waitMs),
        error: cause.message,
      });
      env.metrics.inc(retries, { ...labels, op, class: cause.kind });
      env.metrics.observe(retrySleep, { ...labels, op }, waitMs / 1000);
      await env.clock.sleep(waitMs, signal);
    }
  }
}

/** The same for an invocation: its own policy, ended by its own stop. */
export function retrying<T>(
  { env, labels, row, stop }: Invocation,
  op: RetriedOperation,
  action: () => Promise<T>,
): Promise<T> {
  return withRetry(
    { env, labels, policy: blockOf(row, resilienceBlock)?.retry, signal: stop },
    op,
    action,
  );
}

function isRetriable(error: ConnectorError, policy: RetryPolicy): boolean {
  return (policy.on as readonly string[]).includes(error.kind);
}
