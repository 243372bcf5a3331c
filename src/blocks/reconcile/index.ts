import { defineBlock } from '../define-block.ts';
import { reconcileSchema, type ReconcileSpec } from './schema.ts';

export const reconcileBlock = defineBlock<ReconcileSpec>({
  name: 'reconcile',
  placement: 'top',
  description:
    'Counts at an authority after the records are written; a row that wrote too few fails. Rows that run once for each parent record, tuple or chunk are not counted.',
  asWritten: true,
  schema: reconcileSchema,
  examples: [
    {
      count: {
        type: 'sqlite',
        config: { database_url: 'sqlite:shop.db', query: 'SELECT count(*) AS n FROM orders' },
      },
      tolerance_pct: 1,
    },
  ],
});
