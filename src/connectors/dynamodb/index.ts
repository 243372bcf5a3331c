import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { IDLE_FLUSH_MS } from '../_aws/shards/shard-pages.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import {
  dynamodbSinkConfig,
  dynamodbSourceConfig,
  type DynamodbSinkConfig,
  type DynamodbSourceConfig,
} from './config.ts';
import { openDynamodb, tableAddress } from './link.ts';

export const dynamodbSource = defineSource<DynamodbSourceConfig>({
  type: 'dynamodb',
  description:
    'Reads the items of a table of Amazon DynamoDB, whole or by a key, or the changes of the table.',
  config: dynamodbSourceConfig,
  concurrencyKeys: ['max_concurrency', 'shard_concurrency'],
  examples: [
    { table_name: 'orders', region: 'eu-north-1', segments: 16 },
    {
      table_name: 'orders',
      region: 'eu-north-1',
      mode: 'query',
      key_condition_expression: 'customer = :c AND placed_at > :t',
      filter_expression: '#s = :s',
      expression_attribute_names: { '#s': 'status' },
      expression_attribute_values: { ':c': 17, ':t': '2026-01-01', ':s': 'paid' },
      scan_index_forward: false,
    },
    {
      table_name: 'orders',
      region: 'eu-north-1',
      mode: 'streams',
      on_gap: 'resnapshot',
      idle_termination_secs: 30,
    },
  ],
  capabilities: ({ mode, poll_interval_ms: pollMs }) =>
    mode === 'streams'
      ? {
          replay: 'none',
          bookmarks: true,
          encodings: [],
          unbounded: { redelivery: 'bookmark', idleFlushMs: IDLE_FLUSH_MS + pollMs },
        }
      : { replay: 'none', bookmarks: false, encodings: [] },
  datasetUri: tableAddress,
  divides: ({ mode, segments }) =>
    (mode ?? 'scan') === 'scan' && typeof segments === 'number' && segments > 1
      ? 'segments'
      : undefined,
  readsJson: true,
  open: async (config, context) => {
    if (config.mode === 'streams') {
      const { DynamodbStreamSource } = await import('./streams/source.ts');
      return new DynamodbStreamSource(config, context);
    }
    const { DynamodbSource } = await import('./read/source.ts');
    return new DynamodbSource(openDynamodb(config, context), config, context);
  },
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
});

export const dynamodbSink = defineSink<DynamodbSinkConfig>({
  type: 'dynamodb',
  description: 'Writes items to a table of Amazon DynamoDB, on request under a condition.',
  config: dynamodbSinkConfig,
  concurrencyKeys: ['concurrency'],
  examples: [
    { table_name: 'events', region: 'eu-north-1' },
    {
      table_name: 'customers',
      region: 'eu-north-1',
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
      condition_expression: 'attribute_not_exists(locked)',
      on_condition_failure: 'skip',
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: tableAddress,
  readBack: ({ table_name: table, region, endpoint_url: endpoint, credentials }) => ({
    type: 'dynamodb',
    config: JSON.parse(
      JSON.stringify({ table_name: table, region, endpoint_url: endpoint, credentials }),
    ),
  }),
  open: async (config, context) => {
    const { DynamodbSink } = await import('./write/sink.ts');
    return new DynamodbSink(openDynamodb(config, context), config, context);
  },
  probe: async (config, context) => (await import('./write/probe.ts')).probeTable(config, context),
});

function sinkCapabilities({ write_mode: writeMode, key }: DynamodbSinkConfig): SinkCapabilities {
  return {
    writeModes: ['append', 'upsert', 'delete'],
    writeMode,
    key: isKeyed(writeMode) ? key : [],
    atomicity: 'per_row',
    perRow: true,
    token: false,
    rollback: 'keeps no rollback log in DynamoDB',
    schema: 'none',
    flushDurable: true,
    encodings: [],
    idempotent: isKeyed(writeMode),
  };
}
