import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { probed } from '../_aws/probe.ts';
import { IDLE_FLUSH_MS, MessageSource } from '../_brokers/message-source.ts';
import {
  sqsSinkConfig,
  sqsSourceConfig,
  type SqsSinkConfig,
  type SqsSourceConfig,
} from './config.ts';
import { openSqs, queueAddress, type QueueFields } from './link.ts';
import { formatOf } from './messages.ts';
import { SqsQueue } from './queue.ts';
import { SqsSink } from './sink.ts';

const QUEUE = 'https://sqs.eu-north-1.amazonaws.com/123456789012/orders';

export const sqsSource = defineSource<SqsSourceConfig>({
  type: 'sqs',
  description: 'Reads messages of a queue of Amazon SQS, and deletes them when they are written.',
  config: sqsSourceConfig,
  examples: [
    { queue_url: QUEUE, idle_timeout_secs: 30 },
    {
      queue_url: 'http://localhost:9324/000000000000/orders',
      region: 'elasticmq',
      credentials: {
        type: 'access_key',
        config: { access_key_id: 'x', secret_access_key: 'abcd1234' },
      },
      wait_time_seconds: 20,
      max_messages: 100_000,
    },
  ],
  capabilities: () => ({
    replay: 'none',
    bookmarks: true,
    encodings: [],
    unbounded: { redelivery: 'upstream', idleFlushMs: IDLE_FLUSH_MS },
  }),
  datasetUri: queueAddress,
  readsJson: true,
  open: (config, context) =>
    Promise.resolve(
      new MessageSource({
        queue: new SqsQueue(openSqs(config, context), config, context),
        format: formatOf(config.queue_url),
        context,
        batchSize: config.batch_size,
        maxMessages: config.max_messages,
        idleSeconds: config.idle_timeout_secs,
        onDecodeError: 'fail',
      }),
    ),
  probe: probeQueue,
});

export const sqsSink = defineSink<SqsSinkConfig>({
  type: 'sqs',
  description: 'Sends records as messages to a queue of Amazon SQS.',
  config: sqsSinkConfig,
  concurrencyKeys: ['concurrency'],
  examples: [
    { queue_url: QUEUE },
    {
      queue_url: `${QUEUE}.fifo`,
      message_group_id: 'orders',
      message_deduplication_id_field: 'id',
      credentials: {
        type: 'assume_role',
        config: { role_arn: 'arn:aws:iam::123456789012:role/loader' },
      },
    },
  ],
  capabilities: () => ({ ...APPEND_ONLY, perRow: true }),
  datasetUri: queueAddress,
  open: (config, context) =>
    Promise.resolve(new SqsSink(openSqs(config, context), config, context)),
  probe: probeQueue,
});

function probeQueue(config: QueueFields, context: PartContext): Promise<ProbeFinding[]> {
  const link = openSqs(config, context);
  return probed('get_queue_attributes', 'queue_url', { link, context }, (client, options) =>
    client.getQueueAttributes(
      { QueueUrl: config.queue_url, AttributeNames: ['QueueArn'] },
      options,
    ),
  );
}
