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
import { isObject } from '../../lib/text/json.ts';
import { onDecodeError } from '../_brokers/decode.ts';
import { valueFormat } from '../_brokers/encode.ts';
import { checkEnd, endOfMessages } from '../_brokers/end.ts';
import { jsonPath } from '../_http/json-path.ts';
import { isAmqpUrl } from './addresses.ts';

const EXCHANGE_KINDS = ['direct', 'fanout', 'topic', 'headers'] as const;

const url = () =>
  text()
    .superRefine((value, ctx) => {
      if (isAmqpUrl(value)) return;
      ctx.addIssue(
        finding('invalid_value', 'this is not an address of RabbitMQ', {
          hint: 'write `amqp://user:password@host:5672/vhost`, or `amqps://…` with encryption',
        }),
      );
    })
    .meta({
      description:
        'Address of the server: `amqp://user:password@host:5672/vhost`, or `amqps://…` with TLS.',
      secret: true,
      examples: ['${env:RABBITMQ_URL}'],
    });

/** `connection_url`, as databases call it, is `url` too. */
function withUrl(value: unknown): unknown {
  if (!isObject(value) || 'url' in value || !('connection_url' in value)) return value;
  const { connection_url: address, ...rest } = value;
  return { url: address, ...rest };
}

const exchangeKind = () => z.enum(EXCHANGE_KINDS);

const payloadFormat = () =>
  valueFormat('What the payload is: JSON, text, or bytes (base64 in records).');

const binding = () =>
  z.strictObject({
    exchange: text().meta({ description: 'Exchange that the queue is bound to.' }),
    routing_key: nullAsAbsent(z.string().default('')).meta({
      description: 'Routing key, or pattern of keys, of the binding.',
    }),
    exchange_kind: optional(exchangeKind()).meta({
      description: 'Kind of the exchange, which is then declared as durable; unset: it must exist.',
    }),
  });

export const rabbitmqSourceConfig = z.lazy(() =>
  z.preprocess(
    withUrl,
    z
      .strictObject({
        url: url(),
        queue: text().meta({ description: 'Queue to read.' }),
        declare_queue: nullAsAbsent(boolean().default(true)).meta({
          description: 'Whether the queue is declared, which makes it when it is missing.',
        }),
        queue_durable: nullAsAbsent(boolean().default(true)).meta({
          description: 'Whether a queue that is declared outlives the server; must be as it is.',
        }),
        bindings: nullAsAbsent(z.array(binding()).default([])).meta({
          description: 'Exchanges that the queue is bound to before it is read.',
        }),
        prefetch: optional(integer({ min: 1, max: 65_535 })).meta({
          description:
            'Messages that are here and not acknowledged at most; unset: twice `batch_size`, from 1000 to 65535.',
        }),
        ack_mode: nullAsAbsent(z.enum(['on_sink_confirm', 'auto']).default('on_sink_confirm')).meta(
          {
            description:
              'When a message is done: when it is written, or as soon as it is received (`auto`), which loses messages when a run ends early.',
          },
        ),
        value_format: payloadFormat(),
        on_decode_error: onDecodeError(),
        include_metadata: nullAsAbsent(boolean().default(false)).meta({
          description:
            'Whether records are `{data, exchange, routing_key, redelivered, headers, …}`, with the payload in `data`.',
        }),
        consumer_tag: optional(text()).meta({
          description: 'How the server lists the consumer; unset: a name of its own making.',
        }),
        ...endOfMessages(),
        batch_size: batchSize(),
      })
      .superRefine((config, ctx) => {
        checkEnd(config, ctx);
      }),
  ),
);

export type RabbitmqSourceConfig = z.infer<typeof rabbitmqSourceConfig>;

const KEYS = ['routing_key', 'routing_key_field', 'routing_key_jsonpath'] as const;

export const rabbitmqSinkConfig = z.lazy(() =>
  z.preprocess(
    withUrl,
    z
      .strictObject({
        url: url(),
        exchange: nullAsAbsent(z.string().default('')).meta({
          description: 'Exchange to publish to; empty: the default one, whose keys are queues.',
        }),
        exchange_kind: optional(exchangeKind()).meta({
          description:
            'Kind of the exchange, which is then declared as durable; unset: it must exist.',
        }),
        routing_key: optional(z.string()).meta({ description: 'Routing key of all messages.' }),
        routing_key_field: optional(text()).meta({
          description: 'Field with the routing key of a record.',
        }),
        routing_key_jsonpath: optional(jsonPath()).meta({
          description: 'JSONPath of the routing key in the record.',
        }),
        value_format: payloadFormat(),
        persistent: nullAsAbsent(boolean().default(true)).meta({
          description: 'Whether messages in durable queues outlive the server.',
        }),
        mandatory: nullAsAbsent(boolean().default(true)).meta({
          description: 'Whether a message that reaches no queue fails the page.',
        }),
        publish_timeout_secs: nullAsAbsent(integer({ min: 1, max: 86_400 }).default(60)).meta({
          description: 'Seconds after which messages that are not confirmed fail.',
        }),
        confirm: nullAsAbsent(boolean().default(true)).meta({
          description:
            'Whether the server confirms that it has taken the messages; without it those on their way are lost with the connection.',
        }),
        batch_size: nullAsAbsent(batchSize()).meta({
          description: 'Messages that are sent before the server has confirmed them; 0: a page.',
        }),
      })
      .superRefine((config, ctx) => {
        const given = KEYS.filter((name) => config[name] !== undefined);
        if (given.length !== 1) {
          const message = `one of ${KEYS.map((name) => `\`${name}\``).join(', ')} is needed`;
          const hint =
            given.length === 0
              ? 'a fanout exchange takes `routing_key: ""`'
              : `keep one of ${given.join(', ')}`;
          ctx.addIssue(
            finding(given.length === 0 ? 'missing_key' : 'invalid_value', message, {
              path: [given[1] ?? 'routing_key'],
              hint,
            }),
          );
        }
        if (config.exchange === '' && config.exchange_kind !== undefined)
          ctx.addIssue(
            finding('invalid_value', 'the default exchange has a kind of its own', {
              path: ['exchange_kind'],
              hint: 'name an `exchange`, or remove `exchange_kind`',
            }),
          );
      }),
  ),
);

export type RabbitmqSinkConfig = z.infer<typeof rabbitmqSinkConfig>;
