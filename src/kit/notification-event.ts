/** The events that notifications tell of, and what is told of each. */
import type { JsonValue } from '../lib/text/json.ts';

/** From the least to the most severe. */
export const SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const EVENT_SEVERITY = {
  run_failure: 'error',
  run_success: 'info',
  sla_breach: 'warning',
  circuit_open: 'critical',
  contract_abort: 'error',
  dlq_threshold: 'warning',
  scheduler_stuck: 'critical',
} as const satisfies Readonly<Record<string, Severity>>;
export type EventKind = keyof typeof EVENT_SEVERITY;
// The keys of the table, as a list.
export const EVENT_KINDS = Object.keys(EVENT_SEVERITY) as [EventKind, ...EventKind[]];

export const PAYLOAD_KEYS = [
  'event',
  'severity',
  'pipeline',
  'row',
  'run_id',
  'invocation_id',
  'started_at',
  'finished_at',
  'duration_secs',
  'title',
  'message',
  'details',
] as const satisfies readonly (keyof NotificationEvent)[];

/** What receivers are told: the keys of the payload, all of them always present, in their order. */
export interface NotificationEvent {
  readonly event: EventKind;
  readonly severity: Severity;
  readonly pipeline: string;
  /** Empty where the document has no rows of its own. */
  readonly row: string;
  readonly run_id: string | null;
  readonly invocation_id: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_secs: number | null;
  readonly title: string;
  readonly message: string;
  readonly details: Readonly<Record<string, JsonValue>>;
}
