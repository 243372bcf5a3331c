/** A message in a chat: Slack's blocks, which compatible servers take as well. */
import { z } from 'zod';
import { defineChannel, type ChannelMessage } from '../kit/channel.ts';
import type { NotificationEvent, Severity } from '../kit/notification-event.ts';
import { optional, text } from '../kit/schema.ts';
import { jsonText } from '../lib/text/json.ts';
import { address, secretAddress } from './address.ts';
import { jsonMessage, shortened } from './message.ts';

const config = z.lazy(() =>
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
type Config = z.infer<typeof config>;

export const slack = defineChannel<Config>({
  type: 'slack',
  aliases: ['chat_webhook'],
  description: 'A message in a chat, by its incoming webhook.',
  config,
  examples: [
    { webhook_url: 'https://hooks.slack.com/services/T000/B000/XXXX' },
    { webhook_url: 'https://chat.example.com/hooks/abc', channel: '#data', username: 'headgate' },
  ],
  address: ({ webhook_url: url }) => url,
  secrets: ({ webhook_url: url }) => secretAddress(url),
  message: messageOf,
});

const EMOJI: Readonly<Record<Severity, string>> = {
  critical: '🚨',
  error: '❌',
  warning: '⚠️',
  info: '✅',
};

/** A block with a longer text is refused, and the whole message with it. */
const LONGEST_TEXT = 3000;
/** Leaves room for what escaping makes of it. */
const LONGEST_MESSAGE = 2000;
const LONGEST_TITLE = 250;

function messageOf(
  { webhook_url: url, channel, username }: Config,
  event: NotificationEvent,
): ChannelMessage {
  const emoji = EMOJI[event.severity];
  const title = escaped(shortened(event.title, LONGEST_TITLE));
  const message = escaped(shortened(event.message, LONGEST_MESSAGE));
  return jsonMessage(url, {
    text: `${emoji} ${title}`,
    blocks: [
      { type: 'section', text: mrkdwn(`${emoji} *${title}*\n${message}`) },
      { type: 'context', elements: [mrkdwn(contextOf(event))] },
    ],
    ...(channel === undefined ? {} : { channel }),
    ...(username === undefined ? {} : { username }),
  });
}

function contextOf({ pipeline, severity, row, details }: NotificationEvent): string {
  const facts: [string, string][] = [
    ['Pipeline', pipeline],
    ['Severity', severity],
    ...(row === '' ? [] : [['Row', row] as [string, string]]),
    ...Object.entries(details).map(([key, value]): [string, string] => [key, jsonText(value)]),
  ];
  return facts.map(([key, value]) => `*${escaped(key)}:* ${escaped(value)}`).join(' • ');
}

function mrkdwn(markdown: string): { type: string; text: string } {
  return { type: 'mrkdwn', text: shortened(markdown, LONGEST_TEXT) };
}

/** Text that came from elsewhere shall neither link nor call anybody. */
function escaped(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
