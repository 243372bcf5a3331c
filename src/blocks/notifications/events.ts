/** The events that notifications tell of (spec 6). */

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

/** Keys of the body of the `webhook` channel, all of them always present. */
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
] as const;

export interface Wish {
  /** Empty for all kinds. */
  readonly on: readonly EventKind[];
  readonly min_severity: Severity;
}

/** Whether events of a kind are asked for. */
export function wants({ on, min_severity: least }: Wish, kind: EventKind): boolean {
  return (
    (on.length === 0 || on.includes(kind)) &&
    SEVERITIES.indexOf(EVENT_SEVERITY[kind]) >= SEVERITIES.indexOf(least)
  );
}
