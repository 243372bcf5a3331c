import { z } from 'zod';
import { integer, optional } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { nullAsAbsent } from './null-as-absent.ts';

export const executionSchema = z.strictObject({
  max_concurrent: optional(integer({ min: 1 })).meta({
    description: 'Invocations that run at the same time; the number of CPUs, at most 8, when absent.',
  }),
  on_error: nullAsAbsent(z.enum(['continue', 'stop']).default('continue')).meta({
    description: 'Whether the other rows go on when one fails.',
  }),
  schedule: nullAsAbsent(z.enum(['declared', 'lpt']).default('declared')).meta({
    description: 'Order in which ready rows queue: as declared, or the heaviest `weight` first.',
  }),
});
export type ExecutionSpec = z.infer<typeof executionSchema>;

export const executionBlock = defineBlock<ExecutionSpec>({
  name: 'execution',
  placement: 'top',
  description: 'How the rows of a matrix are run.',
  schema: executionSchema,
  examples: [{ max_concurrent: 4, on_error: 'stop' }, { schedule: 'lpt' }],
});
