import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { IDLE_FLUSH_MS, MessageSource } from '../_brokers/message-source.ts';
import {
  pubsubSinkConfig,
  pubsubSourceConfig,
  type PubsubSinkConfig,
  type PubsubSourceConfig,
} from './config.ts';
import { probeSubscription, probeTopic, PubsubLink, resourceAddress } from './link.ts';
import { formatOf } from './messages.ts';
import { PubsubQueue } from './queue.ts';
import { PubsubSink } from './sink.ts';

export const pubsubSource = defineSource<PubsubSourceConfig>({
  type: 'pubsub',
  description:
    'Reads messages of a subscription of Google Pub/Sub, and acknowledges them when they are written.',
  config: pubsubSourceConfig,
  examples: [
    { subscription: 'orders', project_id: 'my-project', idle_termination_secs: 30 },
    {
      subscription: 'projects/my-project/subscriptions/clicks',
      max_messages: 1_000_000,
      max_messages_per_pull: 1000,
      credentials: { type: 'service_account_json_file', config: { path: 'keys/loader.json' } },
    },
    {
      subscription: 'orders',
      project_id: 'test',
      emulator_host: 'localhost:8085',
      idle_termination_secs: 2,
    },
  ],
  capabilities: () => ({
    replay: 'none',
    bookmarks: true,
    encodings: [],
    unbounded: { redelivery: 'upstream', idleFlushMs: IDLE_FLUSH_MS },
  }),
  datasetUri: (config) =>
    resourceAddress({ kind: 'subscription', name: config.subscription }, config),
  quarantines: ({ on_decode_error: onDecodeError }) => onDecodeError === 'dlq',
  readsJson: true,
  open: (config, context) => {
    const link = new PubsubLink('subscription', config.subscription, config, context);
    return Promise.resolve(
      new MessageSource({
        queue: new PubsubQueue(link, config, context),
        format: formatOf(config),
        context,
        batchSize: config.batch_size,
        maxMessages: config.max_messages,
        idleSeconds: config.idle_termination_secs,
        onDecodeError: config.on_decode_error,
      }),
    );
  },
  probe: probeSubscription,
});

export const pubsubSink = defineSink<PubsubSinkConfig>({
  type: 'pubsub',
  description: 'Publishes records as messages to a topic of Google Pub/Sub.',
  config: pubsubSinkConfig,
  concurrencyKeys: ['concurrency'],
  examples: [
    { topic: 'orders', project_id: 'my-project' },
    {
      topic: 'projects/my-project/topics/orders',
      ordering_key: { type: 'field', name: 'customer_id' },
      attributes_field: 'headers',
      endpoint: 'europe-west3-pubsub.googleapis.com',
    },
  ],
  capabilities: () => ({ ...APPEND_ONLY, atomicity: 'per_row', perRow: true }),
  datasetUri: (config) => resourceAddress({ kind: 'topic', name: config.topic }, config),
  open: (config, context) =>
    Promise.resolve(
      new PubsubSink(new PubsubLink('topic', config.topic, config, context), config, context),
    ),
  probe: probeTopic,
});
