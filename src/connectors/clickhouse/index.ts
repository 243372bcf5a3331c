import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { bareUrl, joinUrl } from '../_http/url.ts';
import {
  baseOf,
  clickhouseSinkConfig,
  clickhouseSourceConfig,
  queryDoubts,
  type ClickhouseSinkConfig,
  type ClickhouseSourceConfig,
} from './config.ts';
import { tableName } from './types/quote.ts';

export const clickhouseSource = defineSource<ClickhouseSourceConfig>({
  type: 'clickhouse',
  description: 'Rows of a query on a ClickHouse server.',
  config: clickhouseSourceConfig,
  boundKeys: ['query'],
  examples: [
    { url: 'http://localhost:8123', query: 'SELECT id, name FROM customers' },
    {
      host: 'clickhouse.example.com',
      http_port: 8443,
      tls: true,
      database: 'shop',
      user: 'reader',
      password: 'secret',
      query: 'SELECT * FROM orders',
      replication: {
        type: 'incremental',
        column: 'updated_at',
        initial_value: '2024-01-01T00:00:00Z',
      },
    },
  ],
  doubts: queryDoubts,
  capabilities: ({ replication }) => ({
    replay: 'none',
    bookmarks: replication.type === 'incremental',
    encodings: [],
  }),
  datasetUri: (config) => `${bareUrl(baseOf(config))}?query=${config.query}`,
  open: async (config, context) =>
    (await import('./read/source.ts')).openClickhouseSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
});

export const clickhouseSink = defineSink<ClickhouseSinkConfig>({
  type: 'clickhouse',
  description: 'Rows of a table on a ClickHouse server.',
  config: clickhouseSinkConfig,
  examples: [
    { url: 'http://localhost:8123', table: 'events' },
    {
      url: 'https://clickhouse.example.com:8443',
      user: 'writer',
      password: 'secret',
      table: 'analytics.events',
      async_insert: true,
      batch_size: 10_000,
    },
    {
      url: 'http://localhost:8123',
      table: 'events',
      commit_rows: 500_000,
      staging: {
        location: 's3://lake/staging',
        compression: 'zstd',
        access_key: 'id',
        secret_key: 'secret',
      },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: (config) => joinUrl(bareUrl(baseOf(config)), config.table),
  place: (config) => {
    const { table, database } = config;
    return joinUrl(bareUrl(baseOf(config)), table.includes('.') ? table : `${database}.${table}`);
  },
  readBack: ({ url, host, http_port, tls, database, user, password, table }) => ({
    type: 'clickhouse',
    config: {
      database,
      ...(url === undefined ? {} : { url }),
      ...(host === undefined ? {} : { host }),
      ...(http_port === undefined ? {} : { http_port }),
      ...(tls === undefined ? {} : { tls }),
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { password }),
      query: `SELECT * FROM ${tableName(table)}`,
    },
  }),
  open: async (config, context) =>
    (await import('./write/sink.ts')).openClickhouseSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function sinkCapabilities(config: ClickhouseSinkConfig): SinkCapabilities {
  const collects = (config.commit_rows ?? config.commit_bytes) !== undefined;
  const isWhole = config.batch_size === 0 && !collects && config.staging === undefined;
  return {
    writeModes: ['append'],
    writeMode: 'append',
    key: [],
    atomicity: isWhole ? 'atomic' : 'best_effort',
    perRow: false,
    token: false,
    rollback: 'keeps no rollback log in ClickHouse',
    schema: 'read',
    flushDurable: true,
    encodings: [],
    idempotent: false,
  };
}
