import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import { bareUrl, joinUrl } from '../_http/url.ts';
import {
  elasticsearchSinkConfig,
  elasticsearchSourceConfig,
  type ElasticsearchSinkConfig,
  type ElasticsearchSourceConfig,
} from './config.ts';

export const elasticsearchSource = defineSource<ElasticsearchSourceConfig>({
  type: 'elasticsearch',
  aliases: ['opensearch'],
  description: 'Reads the documents of an index of Elasticsearch or OpenSearch.',
  config: elasticsearchSourceConfig,
  examples: [
    { base_url: 'http://localhost:9200', index: 'orders' },
    {
      base_url: 'https://search.example.com:9200',
      index: 'orders-2026-*',
      query: { range: { total: { gte: 100 } } },
      auth: { type: 'api_key', config: { key: 'aWQ6c2VjcmV0' } },
      batch_size: 5000,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: addressOf,
  readsJson: true,
  open: async (config, context) =>
    (await import('./read/source.ts')).openElasticsearchSource(config, context),
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverIndexes(config, context),
});

export const elasticsearchSink = defineSink<ElasticsearchSinkConfig>({
  type: 'elasticsearch',
  aliases: ['opensearch'],
  description: 'Writes documents to an index of Elasticsearch or OpenSearch.',
  config: elasticsearchSinkConfig,
  examples: [
    { base_url: 'http://localhost:9200', index: 'events', id_field: 'id' },
    {
      base_url: 'https://search.example.com:9200',
      index: 'customers',
      auth: { type: 'basic', config: { username: 'writer', password: 'secret' } },
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: addressOf,
  readBack: ({ base_url, index, auth }) => ({
    type: 'elasticsearch',
    config: { base_url, index, ...(auth === undefined ? {} : { auth: { ...auth } }) },
  }),
  open: async (config, context) =>
    (await import('./write/sink.ts')).ElasticsearchSink.open(config, context),
  probe: async (config, context) =>
    (await import('./write/probe.ts')).probeElasticsearch(config, context),
});

function addressOf({ base_url: base, index }: { base_url: string; index: string }): string {
  return joinUrl(bareUrl(base), index);
}

function sinkCapabilities({
  write_mode: writeMode,
  key,
}: ElasticsearchSinkConfig): SinkCapabilities {
  const overwrite = writeMode === 'overwrite';
  return {
    writeModes: ['append', 'upsert', 'delete', 'overwrite'],
    writeMode,
    key: isKeyed(writeMode) ? key : [],
    atomicity: 'per_row',
    perRow: true,
    token: false,
    rollback: 'keeps no rollback log in Elasticsearch',
    fenced: overwrite,
    schema: 'evolve',
    flushDurable: !overwrite,
    encodings: [],
    sweep: writeMode === 'upsert',
    idempotent: isKeyed(writeMode),
  };
}
