import { defineMetric } from '../../lib/metrics/metrics.ts';

export const lineageEvents = defineMetric({
  name: 'svc_lineage_events_total',
  type: 'counter',
  help: 'Lineage events, by kind and whether they were sent.',
  labels: ['event_type', 'outcome'],
});

export const lineageEmitDuration = defineMetric({
  name: 'svc_lineage_emit_duration_seconds',
  type: 'histogram',
  help: 'How long sending a lineage event took.',
  labels: ['event_type'],
});

export const lineageDropped = defineMetric({
  name: 'svc_lineage_dropped_total',
  type: 'counter',
  help: 'Lineage events that were not delivered: the document does not ask for them, or they could not be sent.',
  labels: ['reason'],
});
