/** What `headgate backfill` measures. */
import { defineMetric } from '../../lib/metrics/metrics.ts';

export const backfillUnits = defineMetric({
  name: 'svc_backfill_units_total',
  type: 'counter',
  help: 'Units of backfills that ended, by outcome: `ok` or `err`.',
  labels: ['pipeline', 'outcome'],
});
export const backfillProgress = defineMetric({
  name: 'svc_backfill_progress_ratio',
  type: 'gauge',
  help: 'Share of the units of the backfill that are done.',
  labels: ['pipeline'],
});
