import { defineBlock } from '../define-block.ts';
import { checkBatches, executionBesideNodes, planBatches, planExecution } from './plan.ts';
import { executionSchema, type ExecutionSpec } from './schema.ts';

export const executionBlock = defineBlock<ExecutionSpec>({
  name: 'execution',
  placement: 'top',
  description: 'How the rows of a matrix are run.',
  summary: 'How the rows are run.',
  schema: executionSchema,
  examples: [
    { max_concurrent: 4, on_error: 'stop' },
    { schedule: 'lpt' },
    { adaptive_batch_size: { enabled: true, target_latency_ms: 500 } },
  ],
  plannedFor: 'members',
  checkEveryRow: checkBatches,
  planRow: planBatches,
  planDocument: planExecution,
  withoutEffectBesideNodes: executionBesideNodes,
});
