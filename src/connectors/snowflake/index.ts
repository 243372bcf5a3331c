import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { collectsRows } from '../_sql/collected-rows.ts';
import { accountUri } from './address.ts';
import {
  snowflakeSinkConfig,
  snowflakeSourceConfig,
  type SnowflakeSinkConfig,
  type SnowflakeSourceConfig,
} from './config.ts';
import { foldedName } from '../_sql/folded-names.ts';

const KEY_PAIR = {
  type: 'key_pair',
  config: { user: 'loader', private_key_pem: '${file:loader.p8}' },
} as const;

export const snowflakeSource = defineSource<SnowflakeSourceConfig>({
  type: 'snowflake',
  description: 'Rows of a query on Snowflake.',
  config: snowflakeSourceConfig,
  boundKeys: ['query'],
  examples: [
    {
      account: 'acme-shop',
      auth: KEY_PAIR,
      warehouse: 'READING',
      database: 'SHOP',
      schema: 'PUBLIC',
      query: 'SELECT * FROM orders WHERE region = ?',
      params: ['eu'],
    },
    {
      account: 'xy12345.eu-central-1',
      auth: { type: 'oauth', config: { token: '${env:SNOWFLAKE_TOKEN}' } },
      query: 'SELECT id, name FROM shop.public.customers',
      statement_timeout: 600,
      poll_timeout: 0,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: (config) => `${accountUri(config)}?query=${config.query}`,
  open: async (config, context) =>
    (await import('./read/source.ts')).openSnowflakeSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
});

export const snowflakeSink = defineSink<SnowflakeSinkConfig>({
  type: 'snowflake',
  description: 'Rows of a table in Snowflake.',
  config: snowflakeSinkConfig,
  examples: [
    {
      account: 'acme-shop',
      auth: KEY_PAIR,
      warehouse: 'LOADING',
      database: 'SHOP',
      schema: 'PUBLIC',
      table: 'events',
    },
    {
      account: 'acme-shop',
      auth: KEY_PAIR,
      warehouse: 'LOADING',
      database: 'SHOP',
      schema: 'PUBLIC',
      table: 'events',
      commit_rows: 500_000,
      bulk_load: {
        stage: 'lake_stage',
        url: 's3://lake/snowflake',
        storage_options: { aws_region: 'eu-central-1' },
        purge: true,
      },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: (config) => `${accountUri(config)}?table=${foldedName(config.table)}`,
  place: (config) => `${accountUri(config)}?table=${foldedName(config.table)}`,
  open: async (config, context) =>
    (await import('./write/sink.ts')).openSnowflakeSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function sinkCapabilities(config: SnowflakeSinkConfig): SinkCapabilities {
  return {
    writeModes: ['append'],
    writeMode: 'append',
    key: [],
    // A page is one transaction, however many statements it takes.
    atomicity: collectsRows(config) ? 'best_effort' : 'atomic',
    perRow: false,
    token: true,
    rollback: 'keeps no rollback log in Snowflake',
    schema: 'read',
    flushDurable: true,
    encodings: [],
    idempotent: false,
  };
}
