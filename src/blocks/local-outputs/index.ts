import { defineBlock } from '../define-block.ts';
import { localOutputsSchema, type LocalOutputsConfig } from './schema.ts';

export const localOutputsBlock = defineBlock<LocalOutputsConfig>({
  name: 'local_outputs',
  placement: 'top',
  description:
    'How long the files that sinks write on this machine are kept. Files that were there before are never collected.',
  schema: localOutputsSchema,
  examples: [{ retention_days: 30 }, { track: false }],
  plannedFor: 'plan',
});
