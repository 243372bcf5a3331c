import { defineBlock } from '../define-block.ts';
import { explainDlq } from './explain.ts';
import { assembleDlq, planDlq } from './plan.ts';
import { checkDlq } from './rules.ts';
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
  plannedFor: 'members',
  assemble: assembleDlq,
  checkEveryRow: checkDlq,
  planRow: (_given, row) => planDlq(row),
  explainRow: explainDlq,
  events: [
    {
      kind: 'dlq_threshold',
      needs: 'a dead-letter queue',
      canHappen: (_dlq, row) => row.dlq !== undefined,
    },
  ],
});
