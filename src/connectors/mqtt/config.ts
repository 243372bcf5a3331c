import { z } from 'zod';
import {
  batchSize,
  boolean,
  finding,
  integer,
  nullAsAbsent,
  optional,
  text,
} from '../../kit/schema.ts';
import { onDecodeError } from '../_brokers/decode.ts';
import { valueFormat } from '../_brokers/encode.ts';
import { checkEnd, endOfMessages } from '../_brokers/end.ts';
import { scalarText } from '../_http/fields.ts';
import { connectionTls } from '../_http/tls.ts';
import { addressOf } from './addresses.ts';
import { isTopic, isTopicFilter } from './topics.ts';

const MOST_SECONDS = 4_294_967_295;

type Issues = { addIssue(issue: ReturnType<typeof finding>): void };

const qos = (description: string) =>
  nullAsAbsent(integer({ min: 0, max: 2 }).default(1)).meta({ description });

const payloadFormat = () =>
  valueFormat('What the payload is: JSON, text, or bytes (base64 in records).');

const connection = () => ({
  url: text()
    .superRefine((value, ctx) => {
      if (addressOf(value) !== undefined) return;
      const hint = 'write `mqtt://host:1883`, `mqtts://host:8883` with TLS, or `wss://host/mqtt`';
      ctx.addIssue(finding('invalid_value', 'this is not the address of an MQTT server', { hint }));
    })
    .meta({
      description:
        'Address of the server: `mqtt://host:1883`, `mqtts://…` with TLS, `ws://…` or `wss://…` inside of WebSocket.',
      secret: true,
      examples: ['mqtt://localhost:1883'],
    }),
  protocol_version: nullAsAbsent(
    z
      .preprocess(
        (value) => (typeof value === 'number' ? String(value) : value),
        z.enum(['5', '3.1.1']),
      )
      .default('5'),
  ).meta({ description: 'Version of MQTT that is spoken.' }),
  username: optional(text()).meta({ description: 'User name; unset: that of `url`, or none.' }),
  password: optional(z.string()).meta({
    description: 'Password; unset: that of `url`, or none.',
    secret: true,
  }),
  tls: connectionTls(
    'TLS: `true`, `false`, or a block with the authority, the name or a client certificate; unset: by the scheme of `url`.',
  ),
  keep_alive_secs: nullAsAbsent(integer({ min: 1, max: 65_535 }).default(60)).meta({
    description: 'Seconds of silence after which each side looks whether the other is there.',
  }),
});

function checkTls(
  { url, tls }: { readonly url: string; readonly tls?: unknown },
  ctx: Issues,
): void {
  if (tls !== false || addressOf(url)?.isTls !== true) return;
  ctx.addIssue(
    finding('invalid_value', '`tls: false` and the scheme of `url` contradict each other', {
      path: ['tls'],
      hint: 'remove it, or write `mqtt://` or `ws://`',
    }),
  );
}

const topics = () =>
  z
    .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(text()).min(1))
    .superRefine((filters, ctx) => {
      for (const [index, filter] of filters.entries())
        if (!isTopicFilter(filter))
          ctx.addIssue(
            finding('invalid_value', 'this is not a topic to subscribe to', {
              path: [index],
              hint: 'write e.g. `sensors/+/temperature` or `sensors/#`',
            }),
          );
    })
    .meta({
      description:
        'Topics to read; `+` stands for one level, `#` for the rest. `$share/group/…` shares the messages among the readers of a group.',
      examples: [['sensors/+/temperature']],
    });

export const mqttSourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...connection(),
      topics: topics(),
      qos: qos(
        'Quality of service that is asked for. With 0 nothing is acknowledged, and nothing comes again.',
      ),
      client_id: optional(text()).meta({
        description:
          'Name of the session, which the server keeps between runs; needed unless `clean_start` is true or `qos` is 0. Two readers with one name end each other.',
      }),
      clean_start: nullAsAbsent(boolean().default(false)).meta({
        description:
          'Whether a run begins with a new session, which ends with it: what is sent in between is not read, and what a run leaves is lost.',
      }),
      session_expiry_secs: optional(integer({ min: 1, max: MOST_SECONDS })).meta({
        description:
          'Seconds for which the server keeps the session without a connection (MQTT 5); unset: for ever.',
      }),
      receive_maximum: optional(integer({ min: 1, max: 65_535 })).meta({
        description:
          'Messages that are here and not acknowledged at most (MQTT 5); unset: twice `batch_size`, from 1000 to 65535.',
      }),
      retained_messages: nullAsAbsent(z.enum(['new', 'read', 'skip']).default('new')).meta({
        description:
          'Messages that the server keeps as the last of their topics: read where a subscription is new, at the start of each run (`read`), or never.',
      }),
      value_format: payloadFormat(),
      on_decode_error: onDecodeError(),
      include_metadata: nullAsAbsent(boolean().default(false)).meta({
        description:
          'Whether records are `{data, topic, qos, retain, duplicate, …}`, with the payload in `data`.',
      }),
      ...endOfMessages(),
      batch_size: batchSize(),
    })
    .superRefine((config, ctx) => {
      checkEnd(config, ctx);
      checkTls(config, ctx);
      if (isKept(config) && config.client_id === undefined)
        ctx.addIssue(
          finding('missing_key', 'a session that outlives the run needs a `client_id`', {
            path: ['client_id'],
            hint: 'give it a name of its own, or set `clean_start: true` to read only what is sent meanwhile',
          }),
        );
      const needsSession = config.session_expiry_secs !== undefined && !isKept(config);
      if (needsSession)
        ctx.addIssue(
          finding('invalid_value', 'the session of this run is not kept', {
            path: ['session_expiry_secs'],
            hint: 'remove it, or `clean_start`, and set `qos` to 1 or 2',
          }),
        );
      for (const name of ['session_expiry_secs', 'receive_maximum'] as const)
        onlyMqtt5(config, name, ctx);
    }),
);

/** Whether the server keeps the session, with what was not acknowledged, when a run has ended. */
export function isKept(config: { readonly qos: number; readonly clean_start: boolean }): boolean {
  return config.qos > 0 && !config.clean_start;
}

function onlyMqtt5<const N extends string>(
  config: { readonly [name in N]?: unknown } & { readonly protocol_version: string },
  name: N,
  ctx: Issues,
): void {
  if (config.protocol_version === '5' || config[name] === undefined) return;
  ctx.addIssue(
    finding('invalid_value', 'MQTT 3.1.1 has no such thing', {
      path: [name],
      hint: 'remove it, or set `protocol_version: "5"`',
    }),
  );
}

export type MqttSourceConfig = z.infer<typeof mqttSourceConfig>;

export const mqttSinkConfig = z.lazy(() =>
  z
    .strictObject({
      ...connection(),
      topic: text()
        .superRefine((topic, ctx) => {
          if (isTopic(topic)) return;
          const hint = 'write e.g. `sensors/kitchen`, without `+` and `#`';
          ctx.addIssue(finding('invalid_value', 'this is not a topic to publish to', { hint }));
        })
        .meta({ description: 'Topic to publish to.' }),
      topic_field: optional(text()).meta({
        description: 'Field with the topic of a record; where it is missing, `topic` is used.',
      }),
      qos: qos(
        'Quality of service; with 0 the server confirms nothing, and messages on their way are lost with the connection.',
      ),
      retain: nullAsAbsent(boolean().default(false)).meta({
        description: 'Whether the server keeps the last message of each topic for who comes later.',
      }),
      client_id: optional(text()).meta({
        description: 'Name of the connection; unset: a new one each time.',
      }),
      value_format: payloadFormat(),
      message_expiry_secs: optional(integer({ min: 1, max: MOST_SECONDS })).meta({
        description: 'Seconds after which the server drops what nobody has taken (MQTT 5).',
      }),
      user_properties: optional(z.record(z.string(), scalarText())).meta({
        description: 'Properties that each message carries (MQTT 5).',
      }),
      batch_size: nullAsAbsent(batchSize()).meta({
        description: 'Messages that are sent before the server has confirmed them; 0: a page.',
      }),
    })
    .superRefine((config, ctx) => {
      checkTls(config, ctx);
      for (const name of ['message_expiry_secs', 'user_properties'] as const)
        onlyMqtt5(config, name, ctx);
    }),
);

export type MqttSinkConfig = z.infer<typeof mqttSinkConfig>;
export type MqttConnectionConfig = Pick<
  MqttSinkConfig,
  'url' | 'protocol_version' | 'username' | 'password' | 'tls' | 'keep_alive_secs'
>;
