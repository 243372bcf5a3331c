/** What triggers measure. */
import { defineMetric, type Metrics } from '../../lib/metrics/metrics.ts';

export const triggersActive = defineMetric({
  name: 'svc_serve_triggers_active',
  type: 'gauge',
  help: 'Triggers that are switched on.',
  labels: [],
});
export const triggerHealthy = defineMetric({
  name: 'svc_serve_trigger_healthy',
  type: 'gauge',
  help: '1 while the trigger works, 0 after failures in a row.',
  labels: ['trigger'],
});
export const triggerLastFire = defineMetric({
  name: 'svc_serve_trigger_last_fire_unix_seconds',
  type: 'gauge',
  help: 'When the trigger last started a run.',
  labels: ['trigger'],
});
export const triggersFired = defineMetric({
  name: 'svc_serve_triggers_fired_total',
  type: 'counter',
  help: 'Events for which a run was asked for.',
  labels: ['trigger', 'type'],
});
export const triggerRunsEnqueued = defineMetric({
  name: 'svc_serve_trigger_runs_enqueued_total',
  type: 'counter',
  help: 'Runs that triggers started.',
  labels: ['trigger'],
});
export const triggerRunsCoalesced = defineMetric({
  name: 'svc_serve_trigger_runs_coalesced_total',
  type: 'counter',
  help: 'Events without a run of their own: debounced, or known by their idempotency key.',
  labels: ['trigger'],
});
export const triggerRunsDropped = defineMetric({
  name: 'svc_serve_trigger_runs_dropped_total',
  type: 'counter',
  help: 'Events that found no room, or do not fit the document or its parameters, by reason.',
  labels: ['trigger', 'reason'],
});
export const triggerErrors = defineMetric({
  name: 'svc_serve_trigger_errors_total',
  type: 'counter',
  help: 'Failed looks, and events whose run was refused.',
  labels: ['trigger', 'type'],
});

/** At zero from the start, so that rates are right from the first event on. */
export function showFromStart(metrics: Metrics, trigger: string, type: string): void {
  metrics.set(triggerHealthy, { trigger }, 1);
  for (const counter of [triggersFired, triggerErrors]) metrics.inc(counter, { trigger, type }, 0);
  for (const counter of [triggerRunsEnqueued, triggerRunsCoalesced])
    metrics.inc(counter, { trigger }, 0);
  for (const reason of ['queue_full', 'unfit'])
    metrics.inc(triggerRunsDropped, { trigger, reason }, 0);
}
