import { JSON_LINES } from '../../kit/json-lines.ts';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource, type SourceCapabilities, type Unbounded } from '../../kit/source.ts';
import { countPartitions, discoverTopics, probeKafka } from './client/probe.ts';
import { doubtsOfProperties } from './client/config.ts';
import { withFieldsOfProperties } from './client/properties-of-fields.ts';
import { brokerList } from '../../lib/kafka/kafka.ts';
import {
  kafkaSinkConfig,
  kafkaSourceConfig,
  type KafkaSinkConfig,
  type KafkaSourceConfig,
} from './config.ts';
import { keyFormOf } from './read/page-maker.ts';
import { IDLE_FLUSH_MS, openKafkaSource } from './read/source.ts';
import { openKafkaSink } from './write/sink.ts';

export const kafkaSource = defineSource<KafkaSourceConfig>({
  type: 'kafka',
  aliases: ['queue_b'],
  description: 'Reads messages of Kafka topics, from where the last run stopped.',
  config: kafkaSourceConfig,
  examples: [
    {
      brokers: 'localhost:9092',
      topics: ['orders'],
      group_id: 'loader',
      auto_offset_reset: 'earliest',
      idle_timeout: 10,
    },
    {
      brokers: 'kafka-1:9093,kafka-2:9093',
      topics: ['orders', 'refunds'],
      group_id: 'loader',
      auth: {
        type: 'sasl_ssl',
        config: {
          sasl: {
            type: 'sasl_scram',
            config: { mechanism: 'sha512', username: 'loader', password: 'abcd1234' },
          },
          ssl: { ca_path: 'ca.pem' },
        },
      },
      value_format: { type: 'confluent_avro' },
      schema_registry: { url: 'http://registry:8081' },
      max_messages: 100_000,
    },
  ],
  capabilities: (config) => capabilities(config, 'bookmark'),
  divides: () => 'partitions',
  mostShares: countPartitions,
  // The group has one position for all of its members, which is committed after records are written.
  shareCapabilities: (config) => ({ ...capabilities(config, 'upstream'), replay: 'none' }),
  datasetUri: ({ brokers, topics }) => kafkaUri(brokers, topics.join(',')),
  doubts: doubtsOfProperties,
  readsJson: true,
  open: (config, context) => openKafkaSource(withFieldsOfProperties(config), context),
  probe: (config, context) => probeKafka(withFieldsOfProperties(config), context),
  discover: discoverTopics,
});

export const kafkaSink = defineSink<KafkaSinkConfig>({
  type: 'kafka',
  aliases: ['queue_b'],
  description: 'Writes records as messages of Kafka topics, on request in transactions.',
  config: kafkaSinkConfig,
  examples: [
    { brokers: 'localhost:9092', topic: { type: 'fixed', name: 'orders' }, key_path: '$.id' },
    {
      brokers: 'localhost:9092',
      topic: { type: 'from_path', path: '$.kind' },
      compression: 'zstd',
      max_in_flight: 5000,
      batch_size: 5000,
    },
  ],
  capabilities: () => ({ ...APPEND_ONLY, token: true }),
  datasetUri: ({ brokers, topic }) =>
    kafkaUri(brokers, topic.type === 'fixed' ? topic.name : `(from_path:${topic.path})`),
  doubts: doubtsOfProperties,
  open: (config, context) => openKafkaSink(withFieldsOfProperties(config), context),
  probe: probeKafka,
});

function capabilities(
  config: KafkaSourceConfig,
  redelivery: Unbounded['redelivery'],
): SourceCapabilities {
  return {
    replay: 'positional',
    bookmarks: true,
    encodings: keyFormOf(config) === undefined ? [] : [JSON_LINES.name],
    unbounded: { redelivery, idleFlushMs: IDLE_FLUSH_MS },
  };
}

function kafkaUri(brokers: string, topic: string): string {
  return `kafka://${brokerList(brokers)[0]}?topic=${topic}`;
}
