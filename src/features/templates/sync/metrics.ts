/** What pulls of template origins measure. */
import { defineMetric } from '../../../lib/metrics/metrics.ts';

export const syncRuns = defineMetric({
  name: 'svc_serve_template_sync_runs_total',
  type: 'counter',
  help: 'Pulls of origins of templates, by outcome: ok, partial or error.',
  labels: ['origin', 'outcome'],
});
export const syncMutations = defineMetric({
  name: 'svc_serve_template_sync_mutations_total',
  type: 'counter',
  help: 'Changes of the registry that pulls of an origin made.',
  labels: ['origin'],
});
export const syncLast = defineMetric({
  name: 'svc_serve_template_sync_last_unix_seconds',
  type: 'gauge',
  help: 'When the origin was last pulled.',
  labels: ['origin'],
});
