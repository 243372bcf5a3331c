/** What is measured of notifications (spec 6). */
import { defineMetric } from '../../lib/metrics/metrics.ts';

export const SENT = defineMetric({
  name: 'svc_notifications_sent_total',
  type: 'counter',
  help: 'Notifications that were tried to be delivered, by channel, event and outcome.',
  labels: ['channel', 'event', 'outcome'],
});
export const DROPPED = defineMetric({
  name: 'svc_notifications_dropped_total',
  type: 'counter',
  help: 'Notifications that did not arrive: those that repeat an earlier one, and those whose channel failed.',
  labels: ['channel', 'reason'],
});
export const DURATION = defineMetric({
  name: 'svc_notification_dispatch_duration_seconds',
  type: 'histogram',
  help: 'How long a delivery took, the second attempt included.',
  labels: ['channel'],
});
