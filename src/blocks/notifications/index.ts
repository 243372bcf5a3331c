import { defineBlock } from '../define-block.ts';
import { CHANNELS } from '../../channels/index.ts';
import type { ChannelDefinition } from '../../kit/channel.ts';
import { checkNotifications, planNotifications, type NotificationsPlan } from './plan.ts';
import { notificationsSchemaOf, type NotificationRule } from './schema.ts';

export const notificationsBlockOf = (channels: readonly ChannelDefinition[]) =>
  defineBlock<NotificationRule[], NotificationsPlan, NotificationsPlan>({
    name: 'notifications',
    placement: 'top',
    description:
      'Rules for messages about how runs ended. A notification that cannot be delivered never fails a run.',
    schema: notificationsSchemaOf(channels),
    examples: [
      [
        {
          name: 'oncall',
          on: ['run_failure', 'circuit_open', 'contract_abort'],
          channel: {
            type: 'pagerduty',
            config: { routing_key: '0123456789abcdef0123456789abcdef' },
          },
        },
        {
          name: 'team chat',
          min_severity: 'warning',
          dedupe_window_secs: 900,
          dlq_threshold: 100,
          channel: {
            type: 'slack',
            config: { webhook_url: 'https://hooks.slack.com/services/T000/B000/XXXX' },
          },
        },
        {
          name: 'ledger',
          channel: {
            type: 'webhook',
            config: {
              url: 'https://ledger.example.com/runs',
              hmac_secret: 'a shared secret',
              extra_fields: { environment: 'prod' },
            },
          },
        },
      ],
    ],
    plannedFor: 'plan',
    prepare: (given, tools) => planNotifications(given, tools, channels),
    checkPlan: checkNotifications,
  });

export const notificationsBlock = notificationsBlockOf(CHANNELS);
