/** Incidents: PagerDuty's events, version 2. */
import { hash } from 'node:crypto';
import type { IncidentConfig } from '../../../blocks/notifications/schema.ts';
import type { EventKind } from '../../../blocks/notifications/events.ts';
import type { NotificationEvent } from '../event.ts';
import { jsonMessage, shortened, type Message } from './message.ts';

/** Longer ones are refused. */
const LONGEST_KEY = 255;
const LONGEST_SUMMARY = 1024;
const KEY_TAIL = 16;

/** Events whose incident the next success resolves. */
const OPENING: ReadonlySet<EventKind> = new Set(['run_failure', 'circuit_open', 'contract_abort']);

export function opensIncident(kind: EventKind): boolean {
  return OPENING.has(kind);
}

export function triggerMessage(config: IncidentConfig, event: NotificationEvent): Message {
  const { pipeline, row, severity, title, message, details } = event;
  return jsonMessage(config.endpoint, {
    routing_key: config.routing_key,
    event_action: 'trigger',
    dedup_key: dedupKey(pipeline, row),
    payload: {
      summary: shortened(title, LONGEST_SUMMARY),
      source: config.source ?? pipeline,
      severity,
      custom_details: { message, pipeline, row, details: { ...details } },
    },
  });
}

export function resolveMessage(config: IncidentConfig, pipeline: string, row: string): Message {
  return jsonMessage(config.endpoint, {
    routing_key: config.routing_key,
    event_action: 'resolve',
    dedup_key: dedupKey(pipeline, row),
  });
}

/** Of names that are too long the end is replaced, so that different ones stay different. */
function dedupKey(pipeline: string, row: string): string {
  const key = `${pipeline}:${row}`;
  if (key.length <= LONGEST_KEY) return key;
  return `${key.slice(0, LONGEST_KEY - KEY_TAIL).toWellFormed()}${hash('sha256', key).slice(0, KEY_TAIL)}`;
}
