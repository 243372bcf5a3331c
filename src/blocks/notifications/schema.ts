/** `notifications`: who is told how runs ended (spec 6). */
import { z } from 'zod';
import { finding, integer, json, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { isHttpUrl } from '../../lib/http/http-url.ts';
import { carriesBody, headerFault } from '../../lib/http/outgoing-request.ts';
import { EVENT_KINDS, PAYLOAD_KEYS, SEVERITIES } from './events.ts';

/** Judged without being told: such an address is as good as a password. */
const address = () =>
  text().superRefine((url, ctx) => {
    if (url === '' || isHttpUrl(url)) return;
    ctx.addIssue(
      finding('invalid_value', 'is not an address with `http` or `https`', {
        hint: 'for example https://hooks.example.com/…',
      }),
    );
  });

const chatConfig = z.lazy(() =>
  z.strictObject({
    webhook_url: address().meta({ description: 'Address of the incoming webhook.', secret: true }),
    channel: optional(text()).meta({
      description: 'Channel to write to, where the webhook leaves a choice.',
    }),
    username: optional(text()).meta({
      description: 'Name to write under, where the webhook leaves a choice.',
    }),
  }),
);
export type ChatConfig = z.infer<typeof chatConfig>;

export const INCIDENT_ENDPOINT = 'https://events.pagerduty.com/v2/enqueue';

const incidentConfig = z.lazy(() =>
  z.strictObject({
    routing_key: text().meta({
      description: 'Integration key of the service that takes the incidents.',
      secret: true,
    }),
    source: optional(text()).meta({
      description: 'What the incident is about; the name of the pipeline when absent.',
    }),
    endpoint: nullAsAbsent(address().default(INCIDENT_ENDPOINT)).meta({
      description: 'Address that takes the events.',
    }),
  }),
);
export type IncidentConfig = z.infer<typeof incidentConfig>;

const webhookConfig = z.lazy(() =>
  z.strictObject({
    url: address().meta({ description: 'Address that is sent the event.', secret: true }),
    method: nullAsAbsent(
      text()
        .superRefine((method, ctx) => {
          if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]*$/.test(method))
            ctx.addIssue(finding('invalid_value', 'is not an HTTP method'));
          else if (!carriesBody(method))
            ctx.addIssue(
              finding('invalid_value', `a ${method.toUpperCase()} request carries no body`, {
                hint: 'use POST, PUT or PATCH',
              }),
            );
        })
        .default('POST'),
    ).meta({ description: 'HTTP method.' }),
    headers: nullAsAbsent(
      z
        .record(z.string(), z.string())
        .superRefine((headers, ctx) => {
          for (const [name, value] of Object.entries(headers)) {
            const fault = headerFault(name, value);
            if (fault !== undefined)
              ctx.addIssue(finding('invalid_value', fault, { path: [name] }));
          }
        })
        .default({}),
    ).meta({ description: 'Further headers of the request.', secret: true }),
    hmac_secret: optional(text()).meta({
      description:
        'Signs the body: the HMAC-SHA256 of its bytes goes into a header, as lowercase hexadecimal digits.',
      secret: true,
    }),
    signature_header: nullAsAbsent(
      text()
        .superRefine((name, ctx) => {
          const fault = headerFault(name, '');
          if (fault !== undefined) ctx.addIssue(finding('invalid_value', fault));
        })
        .default('X-Svc-Signature'),
    ).meta({ description: 'Header that carries the signature.' }),
    extra_fields: nullAsAbsent(
      z
        .record(z.string(), json())
        .superRefine((fields, ctx) => {
          for (const key of PAYLOAD_KEYS) {
            if (!Object.hasOwn(fields, key)) continue;
            ctx.addIssue(
              finding('conflicting_keys', `\`${key}\` is a field of the event itself`, {
                path: [key],
                hint: 'give it another name',
              }),
            );
          }
        })
        .default({}),
    ).meta({ description: 'Further fields of the body, beside those of the event.' }),
  }),
);
export type WebhookConfig = z.infer<typeof webhookConfig>;

const settings = 'Settings of the channel.';

/** Two names of one kind: that of a well-known vendor, and that of what it does. */
const channel = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z
        .enum(['slack', 'chat_webhook'])
        .meta({ description: 'A message in a chat, by its incoming webhook.' }),
      config: chatConfig.meta({ description: settings }),
    }),
    z.strictObject({
      type: z.enum(['pagerduty', 'incident_api']).meta({
        description:
          'Incidents: failures open one for the pipeline and row, the next success resolves it.',
      }),
      config: incidentConfig.meta({ description: settings }),
    }),
    z.strictObject({
      type: z.literal('webhook').meta({ description: 'The event as JSON, to any address.' }),
      config: webhookConfig.meta({ description: settings }),
    }),
  ]),
);
export type Channel = z.infer<typeof channel>;

const rule = z.lazy(() =>
  z.strictObject({
    name: text().meta({ description: 'Name of the rule; unique.' }),
    on: nullAsAbsent(z.array(z.enum(EVENT_KINDS)).default([])).meta({
      description: 'Kinds of events it sends; all when absent or empty.',
    }),
    min_severity: nullAsAbsent(z.enum(SEVERITIES).default('info')).meta({
      description: 'Events below this severity are not sent.',
    }),
    dedupe_window_secs: nullAsAbsent(integer({ min: 0 }).default(0)).meta({
      description:
        'For this long after an event was sent, others of the same kind, pipeline and row are not; 0 sends all.',
    }),
    dlq_threshold: nullAsAbsent(integer({ min: 0 }).default(1)).meta({
      description:
        'Records of a run in the dead-letter queue from which on `dlq_threshold` is sent; never without any.',
    }),
    channel: channel.meta({ description: 'Where the events go.' }),
  }),
);
export type NotificationRule = z.infer<typeof rule>;

export const notificationsSchema = z.lazy(() =>
  z.array(rule).superRefine((rules, ctx) => {
    for (const [index, { name }] of rules.entries()) {
      if (rules.findIndex((other) => other.name === name) === index) continue;
      ctx.addIssue(
        finding('duplicate_name', `there are two rules \`${name}\``, {
          path: [index, 'name'],
          hint: 'give each a name of its own',
        }),
      );
    }
  }),
);

/** Whether failures open something that a later success resolves. */
export function keepsIncidents({ type }: Channel): boolean {
  return type === 'pagerduty' || type === 'incident_api';
}
