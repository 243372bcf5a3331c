import { defineBlock } from '../define-block.ts';
import { checkCleanUp, explainCleanUp, planCleanUp, tokensOfScope } from './plan.ts';
import { completeForSchema, type CompleteFor } from './schema.ts';

export const completeForBlock = defineBlock<CompleteFor>({
  name: 'complete_for',
  placement: 'source',
  description:
    'What a read of this source is complete for, and what becomes of records that it no longer has.',
  schema: completeForSchema,
  examples: [{ scope: { region: 'eu' }, on_missing: 'delete' }],
  plannedFor: 'members',
  tokensIn: tokensOfScope,
  checkEveryRow: checkCleanUp,
  planRow: planCleanUp,
  explainRow: explainCleanUp,
  notOnNodes: {
    what: 'remove records that no longer exist at the source, as its preset asks',
    hint: 'remove the key, or give the node a preset without it',
  },
});
