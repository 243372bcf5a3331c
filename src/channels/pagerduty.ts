/** Incidents: PagerDuty's events, version 2. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { defineChannel, type ChannelMessage } from '../kit/channel.ts';
import type { NotificationEvent } from '../kit/notification-event.ts';
import { nullAsAbsent, optional, text } from '../kit/schema.ts';
import { address } from './address.ts';
import { jsonMessage, shortened } from './message.ts';

const ENDPOINT = 'https://events.pagerduty.com/v2/enqueue';
/** Longer ones are refused. */
const LONGEST_KEY = 255;
const LONGEST_SUMMARY = 1024;
const KEY_TAIL = 16;

const config = z.lazy(() =>
  z.strictObject({
    routing_key: text().meta({
      description: 'Integration key of the service that takes the incidents.',
      secret: true,
    }),
    source: optional(text()).meta({
      description: 'What the incident is about; the name of the pipeline when absent.',
    }),
    endpoint: nullAsAbsent(address().default(ENDPOINT)).meta({
      description: 'Address that takes the events.',
    }),
  }),
);
type Config = z.infer<typeof config>;

export const pagerduty = defineChannel<Config>({
  type: 'pagerduty',
  aliases: ['incident_api'],
  description:
    'Incidents: failures open one for the pipeline and row, the next success resolves it.',
  config,
  examples: [
    { routing_key: '0123456789abcdef0123456789abcdef' },
    { routing_key: 'key', source: 'warehouse', endpoint: 'https://incidents.example.com/events' },
  ],
  address: ({ endpoint }) => endpoint,
  secrets: ({ routing_key: key }) => [key],
  message: triggerMessage,
  incidents: {
    opening: new Set(['run_failure', 'circuit_open', 'contract_abort']),
    resolve: ({ endpoint, routing_key }, { pipeline, row }) =>
      jsonMessage(endpoint, {
        routing_key,
        event_action: 'resolve',
        dedup_key: dedupKey(pipeline, row),
      }),
  },
});

function triggerMessage(
  { endpoint, routing_key, source }: Config,
  { pipeline, row, severity, title, message, details }: NotificationEvent,
): ChannelMessage {
  return jsonMessage(endpoint, {
    routing_key,
    event_action: 'trigger',
    dedup_key: dedupKey(pipeline, row),
    payload: {
      summary: shortened(title, LONGEST_SUMMARY),
      source: source ?? pipeline,
      severity,
      custom_details: { message, pipeline, row, details: { ...details } },
    },
  });
}

/** Of names that are too long the end is replaced, so that different ones stay different. */
function dedupKey(pipeline: string, row: string): string {
  const key = `${pipeline}:${row}`;
  if (key.length <= LONGEST_KEY) return key;
  return `${key.slice(0, LONGEST_KEY - KEY_TAIL).toWellFormed()}${hash('sha256', key).slice(0, KEY_TAIL)}`;
}
