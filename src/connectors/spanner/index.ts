import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import {
  spannerSinkConfig,
  spannerSourceConfig,
  queryDoubts,
  type Connection,
  type SpannerSinkConfig,
  type SpannerSourceConfig,
} from './config.ts';
import { spannerSlices } from './read/slices.ts';
import { tableSql } from './table-sql.ts';

export const spannerSource = defineSource<SpannerSourceConfig>({
  type: 'spanner',
  description: 'Rows of a query on Google Cloud Spanner.',
  config: spannerSourceConfig,
  boundKeys: ['query'],
  examples: [
    {
      project_id: 'my-project',
      instance: 'main',
      database: 'shop',
      query: 'SELECT id, name FROM customers WHERE region = @region',
      params: { region: 'eu' },
    },
    {
      project_id: 'my-project',
      instance: 'main',
      database: 'shop',
      auth: { type: 'service_account_key_path', config: { path: 'keys/reader.json' } },
      query: 'SELECT * FROM orders WHERE updated_at >= TIMESTAMP(@bookmark)',
      replication: {
        type: 'incremental',
        column: 'updated_at',
        initial_value: '2024-01-01T00:00:00Z',
      },
      exact_staleness_secs: 15,
    },
  ],
  doubts: queryDoubts,
  capabilities: ({ replication }) => ({
    replay: 'none',
    bookmarks: replication.type === 'incremental',
    encodings: [],
  }),
  datasetUri: (config) => `${addressOf(config)}?query=${config.query}`,
  open: async (config, context) =>
    (await import('./read/source.ts')).openSpannerSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  slices: spannerSlices,
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
});

export const spannerSink = defineSink<SpannerSinkConfig>({
  type: 'spanner',
  description: 'Rows of a table in Google Cloud Spanner.',
  config: spannerSinkConfig,
  examples: [
    { project_id: 'my-project', instance: 'main', database: 'shop', table_name: 'events' },
    {
      project_id: 'my-project',
      instance: 'main',
      database: 'shop',
      auth: { type: 'service_account_key_path', config: { path: 'keys/writer.json' } },
      table_name: 'customers',
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: (config) => `${addressOf(config)}/${config.table_name}`,
  readBack: (config) => ({ type: 'spanner', config: readingOf(config) }),
  open: async (config, context) =>
    (await import('./write/sink.ts')).openSpannerSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function addressOf({ project_id, instance, database }: Connection): string {
  return `spanner://${project_id}/${instance}/${database}`;
}

function readingOf(config: SpannerSinkConfig): JsonObject {
  const { project_id, instance, database, auth, emulator_host, max_sessions } = config;
  return {
    project_id,
    instance,
    database,
    auth: { ...auth },
    max_sessions,
    ...(emulator_host === undefined ? {} : { emulator_host }),
    query: `SELECT * FROM ${tableSql(config.table_name)}`,
  };
}

function sinkCapabilities({
  write_mode: writeMode,
  key,
  batch_size: most,
}: SpannerSinkConfig): SinkCapabilities {
  return {
    writeModes: ['append', 'upsert', 'delete'],
    writeMode,
    key: isKeyed(writeMode) ? key : [],
    // A page is one commit, or several.
    atomicity: most === 0 ? 'atomic' : 'best_effort',
    perRow: true,
    token: true,
    rollback: 'keeps no rollback log in Spanner',
    schema: 'evolve',
    flushDurable: true,
    encodings: [],
    sweep: writeMode === 'upsert',
    fenced: writeMode === 'upsert',
    idempotent: isKeyed(writeMode),
  };
}
