import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { tableUri, warehouseUri } from './address.ts';
import {
  databricksSinkConfig,
  databricksSourceConfig,
  queryDoubts,
  type DatabricksSinkConfig,
  type DatabricksSourceConfig,
} from './config.ts';
import { tablePlace, tableSql } from './names.ts';

const AT = {
  workspace_url: 'https://dbc-a1b2c3d4-e5f6.cloud.databricks.com',
  warehouse_id: '1234567890abcdef',
  auth: { type: 'pat', config: { token: '${env:DATABRICKS_TOKEN}' } },
} as const;

export const databricksSource = defineSource<DatabricksSourceConfig>({
  type: 'databricks',
  description: 'Rows of a query on a SQL warehouse of Databricks.',
  config: databricksSourceConfig,
  ownTokens: ['bookmark'],
  boundKeys: ['sql'],
  examples: [
    {
      ...AT,
      catalog: 'main',
      schema: 'sales',
      sql: 'SELECT id, name FROM customers WHERE region = :region AND since >= :day',
      parameters: [
        { name: 'region', value: 'eu' },
        { name: 'day', value: '2026-01-01', type: 'DATE' },
      ],
    },
    {
      ...AT,
      sql: 'SELECT * FROM main.sales.orders',
      replication: {
        type: 'incremental',
        column: 'updated_at',
        initial_value: '2026-01-01T00:00:00Z',
      },
      external_links: true,
    },
    {
      ...AT,
      sql: 'SELECT * FROM main.sales.events WHERE day >= to_date(${bookmark})',
      replication: { type: 'incremental', column: 'created_at', initial_value: '2026-01-01' },
    },
  ],
  doubts: queryDoubts,
  capabilities: ({ replication }) => ({
    replay: 'none',
    bookmarks: replication.type === 'incremental',
    encodings: [],
  }),
  datasetUri: warehouseUri,
  open: async (config, context) =>
    (await import('./read/source.ts')).openDatabricksSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
});

export const databricksSink = defineSink<DatabricksSinkConfig>({
  type: 'databricks',
  description: 'Rows of a table in Databricks.',
  config: databricksSinkConfig,
  examples: [
    { ...AT, catalog: 'main', schema: 'sales', table: 'events' },
    {
      ...AT,
      table: 'main.sales.customers',
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
    {
      ...AT,
      table: 'main.sales.events',
      batch_size: 0,
      load_method: 'copy_into',
      staging: { location: '/Volumes/main/sales/landing', cleanup: 'on_success' },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: tableUri,
  place: tableUri,
  readBack: (config) => ({ type: 'databricks', config: readingOf(config) }),
  open: async (config, context) =>
    (await import('./write/sink.ts')).openDatabricksSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function readingOf(config: DatabricksSinkConfig): JsonObject {
  const { workspace_url, warehouse_id, auth, catalog, schema } = config;
  const { wait_timeout_secs, statement_timeout_secs, poll_interval_ms } = config;
  return {
    workspace_url,
    warehouse_id,
    auth: { ...auth },
    ...(catalog === undefined ? {} : { catalog }),
    ...(schema === undefined ? {} : { schema }),
    wait_timeout_secs,
    statement_timeout_secs,
    poll_interval_secs: poll_interval_ms / 1000,
    external_links: true,
    sql: `SELECT * FROM ${tableSql(tablePlace(config))}`,
  };
}

function sinkCapabilities(config: DatabricksSinkConfig): SinkCapabilities {
  const { write_mode: mode, key, load_method: method } = config;
  const overwrite = mode === 'overwrite';
  return {
    writeModes:
      method === 'copy_into'
        ? ['append', 'overwrite']
        : ['append', 'upsert', 'delete', 'overwrite'],
    writeMode: mode,
    key: isKeyed(mode) ? key : [],
    // A page can take several statements, each of which is a transaction of its own.
    atomicity: 'best_effort',
    perRow: isKeyed(mode),
    token: !overwrite,
    rollback: 'keeps no rollback log in Databricks',
    schema: overwrite ? 'read' : 'evolve',
    flushDurable: !overwrite,
    encodings: [],
    sweep: mode === 'upsert',
    idempotent: isKeyed(mode),
  };
}
