import { z } from 'zod';
import { boolean, integer, optional } from '../../kit/schema.ts';
import type { RetryPolicy } from '../../kit/context.ts';
import { defineBlock } from '../block.ts';
import { nullAsAbsent } from './null-as-absent.ts';

const RETRIED = ['http_5xx', 'rate_limited', 'connection', 'timeout'] as const;

const retrySchema = z.strictObject({
  max_attempts: nullAsAbsent(integer({ min: 0 }).default(5)).meta({
    description: 'Attempts altogether; 0 and 1 mean that nothing is repeated.',
  }),
  backoff: nullAsAbsent(z.enum(['none', 'fixed', 'exponential']).default('exponential')).meta({ description: 'How the wait grows.' }),
  base_ms: nullAsAbsent(integer({ min: 0 }).default(200)).meta({ description: 'The first wait, in milliseconds.' }),
  max_ms: nullAsAbsent(integer({ min: 0 }).default(30_000)).meta({ description: 'The longest wait, in milliseconds.' }),
  jitter: nullAsAbsent(boolean().default(true)).meta({ description: 'Whether a wait is multiplied by a random factor from 0.5 to 1.5.' }),
});

export const resilienceSchema = z.strictObject({
  retry: optional(retrySchema).meta({ description: 'How failed writes and requests are repeated.' }),
  retry_on: optional(z.array(z.enum(RETRIED)).min(1)).meta({ description: 'Failures that are repeated; all four when absent.' }),
});
export type ResilienceSpec = z.infer<typeof resilienceSchema>;

export const resilienceBlock = defineBlock<ResilienceSpec>({
  name: 'resilience',
  placement: 'top',
  description: 'What is tried again, how often and how long after. Without this block nothing is.',
  schema: resilienceSchema,
  examples: [{ retry: { max_attempts: 3, base_ms: 500 }, retry_on: ['rate_limited', 'timeout'] }, { retry: {} }],
});

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
    on: [...new Set(spec.retry_on ?? RETRIED)],
  };
}
