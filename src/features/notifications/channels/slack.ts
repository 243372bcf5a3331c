/** A message in a chat: Slack's blocks, which compatible servers take as well. */
import type { ChatConfig } from '../../../blocks/notifications/schema.ts';
import type { Severity } from '../../../blocks/notifications/events.ts';
import { jsonText } from '../../../lib/text/json.ts';
import type { NotificationEvent } from '../event.ts';
import { jsonMessage, shortened, type Message } from './message.ts';

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

export function chatMessage(
  { webhook_url: url, channel, username }: ChatConfig,
  event: NotificationEvent,
): Message {
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

function mrkdwn(text: string): { type: string; text: string } {
  return { type: 'mrkdwn', text: shortened(text, LONGEST_TEXT) };
}

/** Text that came from elsewhere shall neither link nor call anybody. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
