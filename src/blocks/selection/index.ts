import { defineBlock } from '../define-block.ts';
import { selectionSchema, type SelectionSpec } from './schema.ts';

export const selectionBlock = defineBlock<SelectionSpec>({
  name: 'selection',
  placement: 'top',
  description: 'How the rows of a matrix are selected.',
  summary: 'How the rows are selected.',
  schema: selectionSchema,
  examples: [{ include_parents: 'eligible' }],
  withoutEffectBesideNodes: ({ include_parents: policy }) =>
    policy === undefined
      ? []
      : [
          {
            key: 'include_parents',
            message: '`include_parents` has no effect: nodes are not selected',
          },
        ],
});
