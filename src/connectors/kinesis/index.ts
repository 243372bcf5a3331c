import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import {
  kinesisSinkConfig,
  kinesisSourceConfig,
  type KinesisSinkConfig,
  type KinesisSourceConfig,
} from './config.ts';
import { openKinesis, probeStream, streamAddress } from './link.ts';
import { KinesisSink } from './sink.ts';
import { IDLE_FLUSH_MS } from '../_aws/shards/shard-pages.ts';
import { KinesisSource } from './source.ts';

export const kinesisSource = defineSource<KinesisSourceConfig>({
  type: 'kinesis',
  description: 'Reads the records of a stream of Amazon Kinesis, from where the last run stopped.',
  config: kinesisSourceConfig,
  concurrencyKeys: ['shard_concurrency'],
  examples: [
    { stream_name: 'orders', region: 'eu-north-1', idle_termination_secs: 30 },
    {
      stream_name: 'clicks',
      region: 'eu-north-1',
      start_position: { type: 'at_timestamp', timestamp_secs: 1_767_225_600 },
      records_per_request: 10_000,
      max_messages: 1_000_000,
      credentials: { type: 'profile', config: { name: 'analytics' } },
    },
  ],
  capabilities: ({ poll_interval_ms: pollMs }) => ({
    replay: 'none',
    bookmarks: true,
    encodings: [],
    unbounded: { redelivery: 'bookmark', idleFlushMs: IDLE_FLUSH_MS + pollMs },
  }),
  datasetUri: streamAddress,
  readsJson: true,
  open: (config, context) =>
    Promise.resolve(new KinesisSource(openKinesis(config, context), config, context)),
  probe: probeStream,
});

export const kinesisSink = defineSink<KinesisSinkConfig>({
  type: 'kinesis',
  description: 'Puts records into a stream of Amazon Kinesis.',
  config: kinesisSinkConfig,
  concurrencyKeys: ['concurrency'],
  examples: [
    { stream_name: 'orders', region: 'eu-north-1' },
    {
      stream_name: 'orders',
      region: 'eu-north-1',
      partition_key: { type: 'field', name: 'customer_id' },
      concurrency: 1,
    },
  ],
  capabilities: () => ({ ...APPEND_ONLY, perRow: true }),
  datasetUri: streamAddress,
  open: (config, context) =>
    Promise.resolve(new KinesisSink(openKinesis(config, context), config, context)),
  probe: probeStream,
});
