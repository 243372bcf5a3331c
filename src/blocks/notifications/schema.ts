/** `notifications`: messages about how runs ended. */
import { z } from 'zod';
import type { ChannelDefinition } from '../../kit/channel.ts';
import {
  EVENT_KINDS,
  EVENT_SEVERITY,
  SEVERITIES,
  type EventKind,
} from '../../kit/notification-event.ts';
import { finding, integer, nullAsAbsent, text } from '../../kit/schema.ts';
import { assert } from '../../lib/errors.ts';

/** As a rule names it; its definition is found by the type, and knows its config. */
export interface Channel {
  readonly type: string;
  readonly config: unknown;
}

function channelSchemaOf(channels: readonly ChannelDefinition[]): z.ZodType<Channel> {
  const [first, ...others] = channels.map(({ type, aliases = [], description, config }) =>
    z.strictObject({
      type: (aliases.length === 0 ? z.literal(type) : z.enum([type, ...aliases])).meta({
        description,
      }),
      config: config.meta({ description: 'Settings of the channel.' }),
    }),
  );
  assert(first !== undefined, 'there is a channel');
  return z.discriminatedUnion('type', [first, ...others]);
}

const ruleSchemaOf = (channels: readonly ChannelDefinition[]) =>
  z.lazy(() =>
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
      channel: channelSchemaOf(channels).meta({ description: 'Where the events go.' }),
    }),
  );
export type NotificationRule = z.infer<ReturnType<typeof ruleSchemaOf>>;

export const notificationsSchemaOf = (channels: readonly ChannelDefinition[]) =>
  z.lazy(() =>
    z.array(ruleSchemaOf(channels)).superRefine((rules, ctx) => {
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

/** Whether events of a kind are asked for. */
export function wants(
  { on, min_severity: least }: Pick<NotificationRule, 'on' | 'min_severity'>,
  kind: EventKind,
): boolean {
  return (
    (on.length === 0 || on.includes(kind)) &&
    SEVERITIES.indexOf(EVENT_SEVERITY[kind]) >= SEVERITIES.indexOf(least)
  );
}
