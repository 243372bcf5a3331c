import {
  EVENT_SEVERITY,
  type EventKind,
  type NotificationEvent,
} from '../../kit/notification-event.ts';
import { jsonText } from '../../lib/text/json.ts';

/** Who and when an event is about. */
export type Owner = Pick<
  NotificationEvent,
  'pipeline' | 'row' | 'run_id' | 'invocation_id' | 'started_at' | 'finished_at' | 'duration_secs'
>;

export const NO_INVOCATION = {
  run_id: null,
  invocation_id: null,
  started_at: null,
  finished_at: null,
  duration_secs: null,
} as const;

const TITLES: Readonly<Record<EventKind, string>> = {
  run_failure: 'pipeline failed',
  run_success: 'pipeline succeeded',
  sla_breach: 'SLA breach',
  circuit_open: 'circuit breaker open',
  contract_abort: 'contract breach aborted the run',
  dlq_threshold: 'DLQ threshold reached',
  scheduler_stuck: 'scheduler stuck',
};

export function notificationEvent(
  event: EventKind,
  owner: Owner,
  message: string,
  details: NotificationEvent['details'],
): NotificationEvent {
  const { pipeline, row, run_id, invocation_id, started_at, finished_at, duration_secs } = owner;
  const kind = event === 'sla_breach' ? ` (${jsonText(details['sla_kind'] ?? '')})` : '';
  const title = `${TITLES[event]}${kind}: ${row === '' ? pipeline : `${pipeline} / ${row}`}`;
  const severity = EVENT_SEVERITY[event];
  return {
    event,
    severity,
    pipeline,
    row,
    run_id,
    invocation_id,
    started_at,
    finished_at,
    duration_secs,
    title,
    message,
    details,
  };
}

/** Seconds between two moments; clocks may jump, durations are never negative. */
export function secondsBetween(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from)) / 1000;
}
