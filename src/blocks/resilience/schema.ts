import { z } from 'zod';
import { boolean, integer, nullAsAbsent, optional } from '../../kit/schema.ts';
import { TRANSIENT_KINDS } from '../../lib/errors.ts';
import type { BackoffPolicy } from '../../lib/time/backoff.ts';
import type { RetryPolicy } from '../../kit/context.ts';

const retrySchema = z.lazy(() =>
  z.strictObject({
    max_attempts: nullAsAbsent(integer({ min: 0 }).default(5)).meta({
      description: 'Attempts altogether; 0 and 1 mean that nothing is repeated.',
    }),
    backoff: nullAsAbsent(z.enum(['none', 'fixed', 'exponential']).default('exponential')).meta({
      description: 'How the wait grows.',
    }),
    base_ms: nullAsAbsent(integer({ min: 0 }).default(200)).meta({
      description: 'The first wait, in milliseconds.',
    }),
    max_ms: nullAsAbsent(integer({ min: 0 }).default(30_000)).meta({
      description: 'The longest wait, in milliseconds.',
    }),
    jitter: nullAsAbsent(boolean().default(true)).meta({
      description: 'Whether a wait is multiplied by a random factor from 0.5 to 1.5.',
    }),
    retry_on: optional(z.array(z.enum(TRANSIENT_KINDS)).min(1)).meta({
      description: 'The same as `retry_on` beside `retry`, which takes precedence.',
    }),
  }),
);

const breakerSchema = z.lazy(() =>
  z.strictObject({
    consecutive_failures: nullAsAbsent(integer({ min: 1 }).default(5)).meta({
      description:
        'Pages in a row of which the sink took no record; then the run fails. Counted where a dead-letter queue takes such pages.',
    }),
    cooldown_secs: nullAsAbsent(integer({ min: 0 }).default(60)).meta({
      description: 'How long to wait before the next run; advice, reported with the failure.',
    }),
  }),
);

const poisonSchema = z.lazy(() =>
  z.strictObject({
    max_row_attempts: nullAsAbsent(integer({ min: 1 }).default(3)).meta({
      description:
        'How often a record is sent altogether when the sink rejects it for a reason that may pass (`retry_on`).',
    }),
    action: nullAsAbsent(z.enum(['dlq', 'drop', 'fail']).default('dlq')).meta({
      description:
        'What follows then: the dead-letter queue, leaving the record out, or a failed run.',
    }),
  }),
);

export const resilienceSchema = z.lazy(() =>
  z.strictObject({
    retry: optional(retrySchema).meta({
      description: 'How failed writes and requests are repeated.',
    }),
    retry_on: optional(z.array(z.enum(TRANSIENT_KINDS)).min(1)).meta({
      description: 'Failures that are repeated; all four when absent.',
    }),
    circuit_breaker: optional(breakerSchema).meta({
      description: 'Ends a run whose pages fail one after the other.',
    }),
    poison: optional(poisonSchema).meta({
      description: 'What happens with single records that fail again and again.',
    }),
  }),
);
export type ResilienceSpec = z.infer<typeof resilienceSchema>;

export interface BreakerPolicy {
  readonly consecutiveFailures: number;
  readonly cooldownSecs: number;
}

export function breakerPolicyOf({
  circuit_breaker: breaker,
}: ResilienceSpec): BreakerPolicy | undefined {
  if (breaker === undefined) return undefined;
  return { consecutiveFailures: breaker.consecutive_failures, cooldownSecs: breaker.cooldown_secs };
}

/** Waits between tries are those of `retry`, or of its defaults. */
export interface PoisonPolicy extends BackoffPolicy {
  readonly maxRowAttempts: number;
  readonly action: 'dlq' | 'drop' | 'fail';
  readonly on: RetryPolicy['on'];
}

export function poisonPolicyOf(spec: ResilienceSpec): PoisonPolicy | undefined {
  const { poison } = spec;
  if (poison === undefined) return undefined;
  const waits = retryPolicyOf({ ...spec, retry: spec.retry ?? retrySchema.parse({}) });
  if (waits === undefined) return undefined;
  const { maxAttempts: _ofPages, ...rest } = waits;
  return { ...rest, maxRowAttempts: poison.max_row_attempts, action: poison.action };
}

/** The policy a block asks for; `undefined` when it asks for none. */
export function retryPolicyOf(spec: ResilienceSpec): RetryPolicy | undefined {
  if (spec.retry === undefined && spec.retry_on === undefined) return undefined;
  const retry = spec.retry ?? retrySchema.parse({});
  return {
    maxAttempts: Math.max(1, retry.max_attempts),
    backoff: retry.backoff,
    baseMs: retry.base_ms,
    maxMs: retry.max_ms,
    jitter: retry.jitter,
    on: [...new Set(spec.retry_on ?? retry.retry_on ?? TRANSIENT_KINDS)],
  };
}

/** What a row does before a failure counts. */
export interface Resilience {
  readonly retry: RetryPolicy | undefined;
  readonly poison: PoisonPolicy | undefined;
  readonly breaker: BreakerPolicy | undefined;
}

export function resilienceOf(spec: ResilienceSpec): Resilience {
  return {
    retry: retryPolicyOf(spec),
    poison: poisonPolicyOf(spec),
    breaker: breakerPolicyOf(spec),
  };
}
