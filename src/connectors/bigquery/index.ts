import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { placeIn } from './table-name.ts';
import {
  bigquerySinkConfig,
  bigquerySourceConfig,
  loadsAtEnd,
  type BigquerySinkConfig,
  type BigquerySourceConfig,
} from './config.ts';

export const bigquerySource = defineSource<BigquerySourceConfig>({
  type: 'bigquery',
  description: 'Rows of a query on Google BigQuery.',
  config: bigquerySourceConfig,
  boundKeys: ['query', 'row_restriction'],
  examples: [
    {
      project_id: 'my-project',
      auth: { type: 'application_default' },
      query: 'SELECT id, name FROM `shop.customers` WHERE region = ?',
      params: ['eu'],
    },
    {
      project_id: 'my-project',
      auth: { type: 'service_account_key_path', config: { path: 'keys/reader.json' } },
      location: 'EU',
      query: 'SELECT * FROM `shop.orders`',
      max_results_per_page: 10_000,
    },
    {
      project_id: 'my-project',
      auth: { type: 'application_default' },
      read_api: true,
      read_table: 'shop.orders',
      selected_fields: ['id', 'day', 'price'],
      row_restriction: "day >= '2026-01-01'",
      max_streams: 4,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ project_id, query, read_table: table }) => {
    if (table === undefined) return `bigquery://${project_id}?query=${query}`;
    const { project, dataset, table: name } = placeIn(table, project_id);
    return `bigquery://${project}.${dataset}.${name}`;
  },
  open: async (config, context) =>
    (await import('./read/source.ts')).openBigquerySource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
});

export const bigquerySink = defineSink<BigquerySinkConfig>({
  type: 'bigquery',
  description: 'Rows of a table in Google BigQuery.',
  config: bigquerySinkConfig,
  examples: [
    {
      project_id: 'my-project',
      dataset_id: 'shop',
      table_id: 'events',
      auth: { type: 'application_default' },
      batch_size: 500,
    },
    {
      project_id: 'my-project',
      dataset_id: 'shop',
      table_id: 'customers',
      auth: { type: 'service_account_key_path', config: { path: 'keys/writer.json' } },
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
    {
      project_id: 'my-project',
      dataset_id: 'shop',
      table_id: 'orders',
      auth: { type: 'application_default' },
      write_mode: 'overwrite',
      scope: { window: { column: 'day', from: '2026-05-01', to: '2026-06-01' } },
    },
    {
      project_id: 'my-project',
      dataset_id: 'shop',
      table_id: 'events',
      auth: { type: 'application_default' },
      bulk_load: { staging_bucket: 'lake', staging_prefix: 'staging/' },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: addressOf,
  readBack: (config) => ({ type: 'bigquery', config: readingOf(config) }),
  open: async (config, context) =>
    (await import('./write/sink.ts')).openBigquerySink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function addressOf({ project_id, dataset_id, table_id }: BigquerySinkConfig): string {
  return `bigquery://${project_id}.${dataset_id}.${table_id}`;
}

function readingOf(config: BigquerySinkConfig): JsonObject {
  const { project_id, dataset_id, table_id, auth, location, api_endpoint } = config;
  return {
    project_id,
    auth: { ...auth },
    query: `SELECT * FROM \`${project_id}.${dataset_id}.${table_id}\``,
    ...(location === undefined ? {} : { location }),
    ...(api_endpoint === undefined ? {} : { api_endpoint }),
    statement_timeout: config.statement_timeout,
    poll_timeout: config.poll_timeout,
  };
}

function sinkCapabilities(config: BigquerySinkConfig): SinkCapabilities {
  const { write_mode: writeMode, key, bulk_load: bulk, batch_size: most, scope } = config;
  const overwrite = writeMode === 'overwrite';
  const streams = writeMode === 'append' && bulk === undefined;
  return {
    writeModes: bulk === undefined ? ['append', 'upsert', 'delete', 'overwrite'] : ['append'],
    writeMode,
    ...(scope === undefined ? {} : { overwrites: windowOf(scope) }),
    key: isKeyed(writeMode) ? key : [],
    atomicity: streams ? 'per_row' : bulk === undefined && most === 0 ? 'atomic' : 'best_effort',
    perRow: bulk === undefined,
    token: bulk === undefined && !overwrite,
    rollback: 'keeps no rollback log in BigQuery',
    schema: overwrite ? 'read' : 'evolve',
    flushDurable: !overwrite && !loadsAtEnd(config),
    encodings: [],
    sweep: writeMode === 'upsert',
    fenced: overwrite,
    idempotent: isKeyed(writeMode),
  };
}

function windowOf({ window }: NonNullable<BigquerySinkConfig['scope']>): string {
  return `${window.column} from ${window.from} to ${window.to}`;
}
