import { defineBlock } from '../define-block.ts';
import { rollbackSchema, type RollbackConfig } from './schema.ts';

export const rollbackBlock = defineBlock<RollbackConfig>({
  name: 'rollback',
  placement: 'top',
  description:
    'Makes runs undoable with `headgate rollback`: every row that is written carries the id of its run, and what it replaces is kept. ' +
    'Needs a durable `state` and a sink that takes part. Rows that run several times (for each parent record, tuple or chunk) are only marked.',
  schema: rollbackSchema,
  examples: [{}, { retain: 30 }, { journal: false, keep_previous: false }],
});
