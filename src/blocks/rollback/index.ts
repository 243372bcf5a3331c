import { defineBlock } from '../define-block.ts';
import { explainRollback } from './explain.ts';
import { checkRollback, planRollback, type RollbackPlan } from './plan.ts';
import { rollbackSchema, type RollbackConfig } from './schema.ts';

export const rollbackBlock = defineBlock<RollbackConfig, RollbackPlan>({
  name: 'rollback',
  placement: 'top',
  description:
    'Makes runs undoable with `headgate rollback`: every row that is written carries the id of its run, and what it replaces is kept. ' +
    'Needs a durable `state` and a sink that takes part. Rows that run several times (for each parent record, tuple or chunk) are only marked.',
  schema: rollbackSchema,
  examples: [{}, { retain: 30 }, { journal: false, keep_previous: false }],
  plannedFor: 'rows',
  prepare: ({ value }) => (value.enabled ? value : undefined),
  forRow: planRollback,
  checkRow: checkRollback,
  needsRunId: {
    code: 'rollback_unreachable',
    message: '`rollback` finds the rows of a run by its id, which `metadata_columns` does not add',
    hint: 'remove `enabled: false`, or `rollback`',
  },
  // Runs that can be undone are remembered in every store.
  usesState: () => true,
  readsRecords: () => ({
    why: '`rollback` marks every record with the id of its run',
    onColumns: false,
  }),
  explain: explainRollback,
});
