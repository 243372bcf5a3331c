import { defineBlock } from '../define-block.ts';
import { checkReconcile, explainReconcile, planReconcile, type ReconcilePlan } from './plan.ts';
import { reconcileSchema, type ReconcileSpec } from './schema.ts';

export const reconcileBlock = defineBlock<ReconcileSpec, ReconcilePlan, ReconcilePlan>({
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
  plannedFor: 'rows',
  prepare: planReconcile,
  checkRow: checkReconcile,
  explain: explainReconcile,
});
