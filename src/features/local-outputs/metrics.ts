/** What is measured of output files. */
import { defineMetric } from '../../lib/metrics/metrics.ts';

export const RECORDED = defineMetric({
  name: 'svc_local_outputs_recorded_total',
  type: 'counter',
  help: 'Files that runs wrote and the ledger took, by kind of the sink.',
  labels: ['kind'],
});
export const SWEEPS = defineMetric({
  name: 'svc_local_outputs_sweeps_total',
  type: 'counter',
  help: 'Times that files were looked for to be deleted, by scope.',
  labels: ['scope'],
});
export const DELETED = defineMetric({
  name: 'svc_local_outputs_deleted_total',
  type: 'counter',
  help: 'Files that were deleted.',
  labels: ['scope'],
});
export const BYTES_DELETED = defineMetric({
  name: 'svc_local_outputs_bytes_deleted_total',
  type: 'counter',
  help: 'What the deleted files took, in bytes.',
  labels: ['scope'],
});
export const SKIPPED = defineMetric({
  name: 'svc_local_outputs_skipped_total',
  type: 'counter',
  help: 'Files that stayed, by why.',
  labels: ['scope', 'reason'],
});
