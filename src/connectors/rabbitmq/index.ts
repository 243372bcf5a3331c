import type { Channel } from 'amqplib';
import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { IDLE_FLUSH_MS, MessageSource } from '../_brokers/message-source.ts';
import { rabbitmqUri } from './addresses.ts';
import {
  rabbitmqSinkConfig,
  rabbitmqSourceConfig,
  type RabbitmqSinkConfig,
  type RabbitmqSourceConfig,
} from './config.ts';
import { RabbitmqLink } from './link.ts';
import { formatOf } from './message.ts';
import { RabbitmqQueue } from './queue.ts';
import { RabbitmqSink } from './sink.ts';

export const rabbitmqSource = defineSource<RabbitmqSourceConfig>({
  type: 'rabbitmq',
  description: 'Reads messages of a queue of RabbitMQ.',
  config: rabbitmqSourceConfig,
  examples: [
    { url: 'amqp://localhost:5672', queue: 'orders', idle_timeout_secs: 30 },
    {
      url: 'amqps://loader:abcd1234@rabbit.example.com/shop',
      queue: 'orders',
      bindings: [{ exchange: 'shop', routing_key: 'orders.#', exchange_kind: 'topic' }],
      include_metadata: true,
      max_messages: 100_000,
      idle_timeout_secs: 10,
    },
  ],
  capabilities: ({ ack_mode: mode }) =>
    mode === 'auto'
      ? { replay: 'none', bookmarks: false, encodings: [] }
      : {
          replay: 'none',
          bookmarks: true,
          encodings: [],
          unbounded: { redelivery: 'upstream', idleFlushMs: IDLE_FLUSH_MS },
        },
  quarantines: ({ on_decode_error: onError }) => onError === 'dlq',
  datasetUri: ({ url, queue }) => rabbitmqUri(url, `queue=${queue}`),
  readsJson: true,
  open: (config, context) =>
    Promise.resolve(
      new MessageSource({
        queue: new RabbitmqQueue(new RabbitmqLink(config.url, context), config, context),
        format: formatOf(config),
        context,
        batchSize: config.batch_size,
        maxMessages: config.max_messages,
        idleSeconds: config.idle_timeout_secs,
        onDecodeError: config.on_decode_error,
      }),
    ),
  probe: (config, context) =>
    probed('read', config.url, context, async (channel) => {
      await unlessMade(config.declare_queue, () => channel.checkQueue(config.queue));
    }),
});

export const rabbitmqSink = defineSink<RabbitmqSinkConfig>({
  type: 'rabbitmq',
  description: 'Publishes records as messages of RabbitMQ, confirmed by the server.',
  config: rabbitmqSinkConfig,
  examples: [
    { url: 'amqp://localhost:5672', routing_key: 'orders' },
    {
      url: 'amqps://loader:abcd1234@rabbit.example.com/shop',
      exchange: 'shop',
      exchange_kind: 'topic',
      routing_key_field: 'kind',
    },
  ],
  capabilities: () => APPEND_ONLY,
  datasetUri: (config) => {
    const { url, exchange, routing_key_field: field, routing_key_jsonpath: path } = config;
    const ofRecord = field === undefined ? `(from_path:${path})` : `(from_field:${field})`;
    return rabbitmqUri(url, `exchange=${exchange}&routing_key=${config.routing_key ?? ofRecord}`);
  },
  open: (config, context) => Promise.resolve(new RabbitmqSink(config, context)),
  probe: ({ url, exchange, exchange_kind: kind }, context) =>
    probed('check', url, context, async (channel) => {
      if (exchange !== '')
        await unlessMade(kind !== undefined, () => channel.checkExchange(exchange));
    }),
});

/** What a run would make need not be there. */
async function unlessMade(isMade: boolean, look: () => Promise<unknown>): Promise<void> {
  try {
    await look();
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === NOT_FOUND;
    if (!isMade || !isMissing) throw error;
  }
}

const NOT_FOUND = 404;

async function probed(
  name: string,
  url: string,
  context: PartContext,
  look: (channel: Channel) => Promise<void>,
): Promise<ProbeFinding[]> {
  const link = new RabbitmqLink(url, context);
  try {
    await link.run('the server cannot be asked', async (model) => {
      const channel = await model.createChannel();
      channel.on('error', () => {});
      await look(channel);
    });
    return [{ name, status: 'pass' }];
  } catch (error) {
    context.signal.throwIfAborted();
    const hint = error instanceof AppError ? error.hint : undefined;
    const advice = hint ?? 'check the address, user and password of `url`';
    return [{ name, status: 'fail', reason: messageOf(error), hint: advice }];
  } finally {
    await link.close();
  }
}
