/** What the run service measures. */
import type { Env } from '../../lib/env.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';

export const runsQueued = defineMetric({
  name: 'svc_serve_runs_queued',
  type: 'gauge',
  help: 'Runs waiting for a free slot.',
  labels: [],
});
export const runsInFlight = defineMetric({
  name: 'svc_serve_runs_in_flight',
  type: 'gauge',
  help: 'Runs executing now.',
  labels: [],
});
export const residentMemory = defineMetric({
  name: 'headgate_resident_memory_bytes',
  type: 'gauge',
  help: 'Memory that the process of the server has in use, without its workers.',
  labels: [],
});
export const runsTotal = defineMetric({
  name: 'svc_serve_runs_total',
  type: 'counter',
  help: 'Runs that ended, by final status and reason.',
  labels: ['status', 'reason'],
});
export const idempotencyHits = defineMetric({
  name: 'svc_serve_idempotency_hits_total',
  type: 'counter',
  help: 'Submissions answered with the run of an earlier one.',
  labels: [],
});
export const historyDegraded = defineMetric({
  name: 'svc_serve_history_degraded',
  type: 'gauge',
  help: '1 while the history store does not answer.',
  labels: [],
});
export const logLines = defineMetric({
  name: 'svc_serve_run_log_lines_total',
  type: 'counter',
  help: 'Log lines of runs that were stored.',
  labels: [],
});
export const logsDropped = defineMetric({
  name: 'svc_serve_run_logs_dropped_total',
  type: 'counter',
  help: 'Log lines of runs that were not stored, by reason.',
  labels: ['reason'],
});
export const logsPurged = defineMetric({
  name: 'svc_serve_run_logs_purged_total',
  type: 'counter',
  help: 'Stored log lines removed after their retention.',
  labels: [],
});

export const RUN_METRICS = [
  runsQueued,
  residentMemory,
  runsInFlight,
  runsTotal,
  idempotencyHits,
  historyDegraded,
  logLines,
  logsDropped,
  logsPurged,
];

/** Shows how many runs wait and execute. */
export function queueGauges(env: Pick<Env, 'metrics'>): (queued: number, inFlight: number) => void {
  env.metrics.set(runsQueued, {}, 0);
  env.metrics.set(runsInFlight, {}, 0);
  return (queued, inFlight) => {
    env.metrics.set(runsQueued, {}, queued);
    env.metrics.set(runsInFlight, {}, inFlight);
  };
}
