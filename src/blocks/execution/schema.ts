import { z } from 'zod';
import { boolean, finding, integer, number, optional, nullAsAbsent } from '../../kit/schema.ts';

const MAX_BATCH = 1_000_000;

const adaptiveBatchSchema = z.lazy(() =>
  z
    .strictObject({
      enabled: nullAsAbsent(boolean().default(false)).meta({
        description: 'Whether batch sizes adapt.',
      }),
      controller: nullAsAbsent(z.literal('aimd').default('aimd')).meta({
        description: 'Grows by a step, shrinks by a factor.',
      }),
      min: nullAsAbsent(integer({ min: 1 }).default(100)).meta({
        description: 'Fewest records written at once.',
      }),
      max: nullAsAbsent(integer({ min: 1, max: MAX_BATCH }).default(50_000)).meta({
        description: 'Most records written at once; never more than a page of the source holds.',
      }),
      increase_step: nullAsAbsent(integer({ min: 1, max: MAX_BATCH }).default(250)).meta({
        description: 'Records added while all is well.',
      }),
      decrease_factor: nullAsAbsent(number().default(0.5)).meta({
        description: 'The size is multiplied by this when it is not; between 0 and 1.',
      }),
      cooldown_batches: nullAsAbsent(integer({ min: 0 }).default(5)).meta({
        description: 'Writes after which a size that shrank may grow again.',
      }),
      target_latency_ms: optional(integer({ min: 1 })).meta({
        description: 'How long a write may take; without it the size grows while writes succeed.',
      }),
      latency_window: nullAsAbsent(integer({ min: 1 }).default(10)).meta({
        description: 'Writes of which the median is compared with the target.',
      }),
      error_threshold: nullAsAbsent(number({ min: 0, max: 1 }).default(0.01)).meta({
        description:
          'Share of failed records above which the size shrinks; single records can fail only with a dead-letter queue.',
      }),
      respect_source_max: nullAsAbsent(boolean().default(true)).meta({
        description: 'Pages of the source are never joined; only true is possible.',
      }),
      log_every: nullAsAbsent(integer({ min: 0 }).default(50)).meta({
        description: 'Changes of the size after which a line is logged; 0 for never.',
      }),
    })
    .superRefine(({ min, max, decrease_factor: factor, respect_source_max: respect }, ctx) => {
      if (min > max)
        ctx.addIssue(
          finding('out_of_range', `\`min\` (${min}) is greater than \`max\` (${max})`, {
            path: ['min'],
          }),
        );
      if (factor <= 0 || factor >= 1) {
        ctx.addIssue(
          finding('out_of_range', `must be between 0 and 1, got ${factor}`, {
            path: ['decrease_factor'],
          }),
        );
      }
      if (respect) return;
      ctx.addIssue(
        finding('invalid_value', 'pages of the source are never joined, so this cannot be false', {
          path: ['respect_source_max'],
        }),
      );
    }),
);
export type AdaptiveBatchSpec = z.infer<typeof adaptiveBatchSchema>;

export const executionSchema = z.lazy(() =>
  z.strictObject({
    max_concurrent: optional(integer({ min: 1 })).meta({
      description:
        'Invocations that run at the same time; the number of CPUs, at most 8, when absent.',
    }),
    on_error: nullAsAbsent(z.enum(['continue', 'stop']).default('continue')).meta({
      description: 'Whether the other rows go on when one fails.',
    }),
    schedule: nullAsAbsent(z.enum(['declared', 'lpt']).default('declared')).meta({
      description: 'Order in which ready rows queue: as declared, or the heaviest `weight` first.',
    }),
    adaptive_batch_size: optional(adaptiveBatchSchema).meta({
      description: 'Cuts pages into batches whose size follows errors and latency.',
    }),
  }),
);
export type ExecutionSpec = z.infer<typeof executionSchema>;
