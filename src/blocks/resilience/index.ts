import { defineBlock } from '../define-block.ts';
import { resilienceSchema, type ResilienceSpec } from './schema.ts';

export const resilienceBlock = defineBlock<ResilienceSpec>({
  name: 'resilience',
  placement: 'top',
  description: 'What is tried again, how often and how long after. Without this block nothing is.',
  summary: 'What is tried again.',
  schema: resilienceSchema,
  examples: [
    { retry: { max_attempts: 3, base_ms: 500 }, retry_on: ['rate_limited', 'timeout'] },
    { retry: {} },
    { circuit_breaker: { consecutive_failures: 3 }, poison: { action: 'drop' } },
  ],
});
