import { defineBlock } from '../define-block.ts';
import { schemaDriftSchema, type SchemaDriftConfig } from './schema.ts';

export const schemaDriftBlock = defineBlock<SchemaDriftConfig>({
  name: 'schema',
  placement: 'pipeline',
  description:
    'What happens when the top-level fields of records no longer match the columns of the destination.',
  schema: schemaDriftSchema,
  examples: [{ on_drift: 'evolve', on_incompatible: 'quarantine' }, { on_drift: 'fail' }],
});
