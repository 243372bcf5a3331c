import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { collectsRows } from '../_sql/collected-rows.ts';
import { clusterUri } from './address.ts';
import {
  redshiftSinkConfig,
  redshiftSourceConfig,
  queryDoubts,
  type RedshiftSinkConfig,
  type RedshiftSourceConfig,
} from './config.ts';

/** The schema of tables without a configured one, unless the user has another default. */
const USUAL_SCHEMA = 'public';

export const redshiftSource = defineSource<RedshiftSourceConfig>({
  type: 'redshift',
  description: 'Rows of a query on an Amazon Redshift database.',
  config: redshiftSourceConfig,
  boundKeys: ['query'],
  ownTokens: ['bookmark'],
  examples: [
    {
      host: 'shop.abc123.eu-west-1.redshift.amazonaws.com',
      database: 'shop',
      user: 'reader',
      credentials: { type: 'password', config: { password: 'secret' } },
      query: 'SELECT * FROM orders WHERE region = $1',
      params: ['eu'],
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
  datasetUri: (config) => `${clusterUri(config)}?query=${config.query}`,
  open: async (config, context) =>
    (await import('./read/source.ts')).openRedshiftSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
});

export const redshiftSink = defineSink<RedshiftSinkConfig>({
  type: 'redshift',
  description: 'Rows of a table in an Amazon Redshift database.',
  config: redshiftSinkConfig,
  examples: [
    {
      host: 'shop.abc123.eu-west-1.redshift.amazonaws.com',
      database: 'shop',
      user: 'loader',
      credentials: { type: 'password', config: { password: 'secret' } },
      table_name: 'events',
      staging_bucket: 'lake',
      staging_prefix: 'headgate/',
      iam_role: 'arn:aws:iam::123456789012:role/redshift-copy',
      region: 'eu-west-1',
      commit_rows: 500_000,
    },
    {
      host: 'shop.abc123.eu-west-1.redshift.amazonaws.com',
      database: 'shop',
      user: 'loader',
      credentials: { type: 'password', config: { password: 'secret' } },
      schema: 'crm',
      table_name: 'customers',
      write_strategy: 'insert',
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: (config) => `${clusterUri(config)}?table=${tableOf(config)}`,
  place: ({ schema = USUAL_SCHEMA, ...config }) =>
    `${clusterUri(config)}?table=${tableOf({ ...config, schema })}`,
  readBack: (config) => {
    const { host, port, database, user, credentials, tls, schema, table_name: table } = config;
    const from =
      schema === undefined ? quoteName(table) : `${quoteName(schema)}.${quoteName(table)}`;
    return {
      type: 'redshift',
      config: {
        host,
        port,
        database,
        user,
        credentials,
        tls,
        query: `SELECT * FROM ${from}`,
      },
    };
  },
  open: async (config, context) =>
    (await import('./write/sink.ts')).openRedshiftSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function tableOf({ schema, table_name: table }: RedshiftSinkConfig): string {
  return schema === undefined ? table : `${schema}.${table}`;
}

function sinkCapabilities(config: RedshiftSinkConfig): SinkCapabilities {
  return {
    writeModes: ['append'],
    writeMode: 'append',
    key: [],
    // A page is one transaction, however many statements it takes.
    atomicity: collectsRows(config) ? 'best_effort' : 'atomic',
    perRow: false,
    token: false,
    rollback: 'keeps no rollback log in Redshift',
    schema: 'read',
    flushDurable: true,
    encodings: [],
    idempotent: false,
  };
}
