import { defineBlock } from '../define-block.ts';
import { explainResilience } from './explain.ts';
import { checkResilience } from './rules.ts';
import { resilienceOf, resilienceSchema, type Resilience, type ResilienceSpec } from './schema.ts';

export const resilienceBlock = defineBlock<ResilienceSpec, Resilience, Resilience>({
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
  plannedFor: 'rows',
  prepare: ({ value }) => resilienceOf(value),
  checkRow: checkResilience,
  events: [
    {
      kind: 'circuit_open',
      needs: 'a `circuit_breaker` and a dead-letter queue',
      canHappen: ({ breaker }, { dlq }) => breaker !== undefined && dlq !== undefined,
    },
  ],
  explain: explainResilience,
});
