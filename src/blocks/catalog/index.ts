import { defineBlock } from '../define-block.ts';
import { catalogSchema, type CatalogSpec } from './schema.ts';

export const catalogBlock = defineBlock<CatalogSpec>({
  name: 'catalog',
  placement: 'top',
  description:
    'Records which data sets successful runs read and wrote, how many records they moved, and what those looked like. A server records all runs into its own history, and does not look at the `url`.',
  schema: catalogSchema,
  examples: [{ url: 'sqlite:catalog.db' }, { url: 'memory', sample_records: 10 }],
  plannedFor: 'plan',
});
