import { z } from 'zod';
import { boolean, finding, integer, optional, nullAsAbsent } from '../../kit/schema.ts';
import { sinkSchema } from '../../document/structure/sink.ts';

export const dlqSchema = z.lazy(() =>
  z
    .strictObject({
      sink: sinkSchema.meta({ description: 'Sink that takes the records; it always appends.' }),
      on_batch_error: nullAsAbsent(z.enum(['propagate', 'dlq_all']).default('propagate')).meta({
        description:
          'What follows when a whole page fails: the run fails, or every record of the page goes to the dead-letter queue.',
      }),
      max_failures_per_page: optional(integer({ min: 1 })).meta({
        description: 'The run fails when more records of one page are diverted.',
      }),
      max_failures_total: optional(integer({ min: 1 })).meta({
        description: 'The run fails when more records are diverted altogether.',
      }),
      include_original_payload: nullAsAbsent(boolean().default(true)).meta({
        description: 'The payload is always included; only true is possible.',
      }),
      allow_duplicates_on_dlq_all: nullAsAbsent(boolean().default(false)).meta({
        description:
          'Accepts `dlq_all` on a sink where part of a failed page may have been written: those records are then in both places.',
      }),
    })
    .superRefine((dlq, ctx) => {
      if (dlq.include_original_payload) return;
      const message = 'a dead-letter record always holds its payload, so this cannot be false';
      ctx.addIssue(finding('invalid_value', message, { path: ['include_original_payload'] }));
    }),
);
export type DlqSpec = z.infer<typeof dlqSchema>;
