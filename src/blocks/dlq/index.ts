import { defineBlock } from '../define-block.ts';
import { dlqSchema, type DlqSpec } from './schema.ts';

export const dlqBlock = defineBlock<DlqSpec>({
  name: 'dlq',
  placement: 'pipeline',
  description: 'The dead-letter queue: takes the records that cannot be written, with the reason.',
  summary: 'Takes the records that cannot be written.',
  inRows: {
    description: 'Replaces the dead-letter queue of the pipeline; null means none.',
    nullable: true,
  },
  schema: dlqSchema,
  examples: [
    { sink: { type: 'jsonl', config: { path: 'rejected.jsonl' } }, max_failures_total: 100 },
  ],
  events: [
    {
      kind: 'dlq_threshold',
      needs: 'a dead-letter queue',
      canHappen: (_dlq, row) => row.dlq !== undefined,
    },
  ],
});
