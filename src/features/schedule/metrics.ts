/** What a scheduler measures. */
import { defineMetric } from '../../lib/metrics/metrics.ts';

const PIPELINE = ['pipeline'] as const;

export const scheduleRuns = defineMetric({
  name: 'svc_schedule_runs_total',
  type: 'counter',
  help: 'Ticks by outcome: `ok`, `err` or `skipped`.',
  labels: ['pipeline', 'outcome'],
});
export const scheduleOverlaps = defineMetric({
  name: 'svc_schedule_overlaps_total',
  type: 'counter',
  help: 'Ticks that came while a run was active.',
  labels: ['pipeline', 'policy'],
});
export const scheduleReloads = defineMetric({
  name: 'svc_schedule_reloads_total',
  type: 'counter',
  help: 'Reloads of the document, by outcome: `ok` or `error`.',
  labels: ['pipeline', 'outcome'],
});
export const nextTick = defineMetric({
  name: 'svc_schedule_next_tick_unix_seconds',
  type: 'gauge',
  help: 'When the next run is due.',
  labels: PIPELINE,
});
export const scheduledInFlight = defineMetric({
  name: 'svc_schedule_runs_in_flight',
  type: 'gauge',
  help: 'Active runs.',
  labels: PIPELINE,
});
export const consecutiveFailures = defineMetric({
  name: 'svc_schedule_consecutive_failures',
  type: 'gauge',
  help: 'Failed runs since the last one that succeeded.',
  labels: PIPELINE,
});
export const heartbeat = defineMetric({
  name: 'svc_schedule_heartbeat_unix_seconds',
  type: 'gauge',
  help: 'When the scheduler last looked at the clock; it does so every 30 seconds at least.',
  labels: PIPELINE,
});
export const lastStarted = defineMetric({
  name: 'svc_schedule_last_run_started_unix_seconds',
  type: 'gauge',
  help: 'When the last run started.',
  labels: PIPELINE,
});
export const lastCompleted = defineMetric({
  name: 'svc_schedule_last_run_completed_unix_seconds',
  type: 'gauge',
  help: 'When the last run ended.',
  labels: PIPELINE,
});
export const lastDuration = defineMetric({
  name: 'svc_schedule_last_run_duration_seconds',
  type: 'gauge',
  help: 'How long the last run took.',
  labels: PIPELINE,
});
export const lateness = defineMetric({
  name: 'svc_schedule_run_lateness_seconds',
  type: 'histogram',
  help: 'How long after its tick a run started.',
  labels: PIPELINE,
});
