import { z } from 'zod';
import { batchSize, boolean, finding, integer, number, optional, text } from '../../kit/schema.ts';
import { auth } from '../_http/auth.ts';

const MESSAGE_BYTES = 64 * 1024 * 1024;
const FORMATS = ['json', 'raw_string', 'binary'] as const;

export const websocketConfig = z.lazy(() =>
  z
    .strictObject({
      url: text()
        .superRefine((value, ctx) => {
          if (!isAddress(value))
            ctx.addIssue(
              finding('invalid_value', 'this is not a ws or wss address', {
                hint: 'write it in full and without `#`, e.g. `wss://feed.example.com/trades`',
              }),
            );
        })
        .meta({
          description: 'Address of the server; `{key}` is filled from the parent record.',
          examples: ['wss://feed.example.com/trades'],
        }),
      auth: auth(['none', 'bearer', 'custom']),
      subscribe_messages: z
        .array(z.string())
        .default([])
        .meta({ description: 'Messages that are sent after each connect, in this order.' }),
      message_format: z.enum(FORMATS).default('json').meta({
        description:
          'What a message becomes: the value of its JSON, its text, or its bytes as base64.',
      }),
      on_parse_error: z
        .enum(['fail', 'skip'])
        .default('fail')
        .meta({ description: 'What happens to a message that is not as `message_format` says.' }),
      envelope: boolean().default(false).meta({
        description: 'Whether records are `{data, received_at, url}`, with the message in `data`.',
      }),
      ping_interval: optional(seconds()).meta({
        description:
          'Seconds between pings; unset: none are sent. A server that answers to none for half a minute, and sends nothing else, is lost.',
      }),
      max_messages: optional(integer({ min: 1 })).meta({
        description: 'Ends after so many messages.',
      }),
      idle_timeout: optional(seconds()).meta({
        description:
          'Ends when nothing came for so many seconds, those without a connection included.',
      }),
      reconnect: boolean().default(false).meta({
        description:
          'Whether to connect again when the connection is lost, or closed with another code than 1000.',
      }),
      reconnect_backoff: number({ min: 0, max: 86_400 })
        .default(1)
        .meta({ description: 'Seconds before connecting again.' }),
      max_reconnect_attempts: optional(integer({ min: 0 })).meta({
        description: 'Attempts without a message in between; unset: no limit.',
      }),
      max_message_bytes: integer({ min: 1, max: 1024 * 1024 * 1024 })
        .default(MESSAGE_BYTES)
        .meta({ description: 'A longer message ends the run.', advanced: true }),
      batch_size: batchSize().meta({
        description: 'Records of a page; 0, with `max_messages`: all in one.',
      }),
    })
    .superRefine(({ max_messages: most, idle_timeout: idle, batch_size: batch }, ctx) => {
      if (most === undefined && idle === undefined)
        ctx.addIssue(
          finding('missing_key', '`max_messages` or `idle_timeout` is needed', {
            hint: 'say after how many messages, or after how many seconds of silence, it ends',
          }),
        );
      if (batch === 0 && most === undefined)
        ctx.addIssue(
          finding('invalid_value', 'a page of all messages needs `max_messages`', {
            path: ['batch_size'],
            hint: 'set `max_messages`, or a `batch_size` above 0',
          }),
        );
    }),
);

/** Anything may stand in place of `{key}`. */
function isAddress(value: string): boolean {
  const url = URL.parse(value.replaceAll(/\{[^{}]*\}/g, '0'));
  return url !== null && /^wss?:\/\//i.test(value) && url.host !== '' && !value.includes('#');
}

const seconds = () => number({ min: 0.001, max: 86_400 });

export type WebsocketConfig = z.infer<typeof websocketConfig>;
