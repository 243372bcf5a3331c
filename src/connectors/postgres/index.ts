import { JSON_LINES } from '../../kit/json-lines.ts';
import { defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { datasetUri } from '../_sql/dataset-uri.ts';
import { createSqlSink } from '../_sql/sink.ts';
import {
  canSweep,
  readTable,
  sqlSinkCapabilities,
  takesBlocks,
  takesColumns,
} from '../_sql/sink-fields.ts';
import {
  postgresSinkConfig,
  postgresSourceConfig,
  type PostgresSinkConfig,
  type PostgresSourceConfig,
} from './config.ts';
import { COPY_BINARY } from './copy/binary-rows.ts';
import { discoverTables } from './read/discover.ts';
import { openPostgresDriver } from './driver.ts';
import { probePostgres } from './probe.ts';
import { describeResult, postgresSlices } from './read/slices.ts';
import { openPostgresSource } from './source.ts';

const PORT = 5432;
/** The schema of tables without a configured one, unless the server has another default. */
const USUAL_SCHEMA = 'public';

export const postgresSource = defineSource<PostgresSourceConfig>({
  type: 'postgres',
  description: 'Rows of a query on a PostgreSQL database.',
  boundKeys: ['query'],
  ownTokens: ['bookmark'],
  config: postgresSourceConfig,
  examples: [
    {
      connection_url: 'postgres://reader:secret@db.example:5432/shop',
      query: 'SELECT id, name FROM customers WHERE region = $1',
      params: ['eu'],
    },
    {
      connection_url: 'postgres://reader:secret@db.example:5432/shop',
      query: 'SELECT * FROM orders',
      replication: {
        type: 'incremental',
        column: 'updated_at',
        initial_value: '2024-01-01T00:00:00Z',
      },
    },
  ],
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: config.replication.type === 'incremental',
    encodings: [COPY_BINARY, JSON_LINES.name],
    columns: true,
  }),
  datasetUri: (config) => datasetUri(config.connection_url, { query: config.query }, PORT),
  open: openPostgresSource,
  describe: describeResult,
  slices: postgresSlices,
  discover: (config) => discoverTables(config.connection_url),
});

export const postgresSink = defineSink<PostgresSinkConfig>({
  type: 'postgres',
  description: 'Rows of a table in a PostgreSQL database.',
  config: postgresSinkConfig,
  examples: [
    { connection_url: 'postgres://writer:secret@db.example:5432/shop', table_name: 'events' },
    {
      connection_url: 'postgres://writer:secret@db.example:5432/shop',
      table_name: 'customers',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  capabilities: (config) => ({
    ...sqlSinkCapabilities(config),
    encodings: encodingsOf(config),
    columns: takesColumns(config),
    sweep: canSweep(config),
    fenced: true,
    ...(config.scope === undefined ? {} : { overwrites: windowOf(config.scope) }),
  }),
  datasetUri: ({ connection_url, schema, table_name }) =>
    datasetUri(
      connection_url,
      { table: schema === undefined ? table_name : `${schema}.${table_name}` },
      PORT,
    ),
  place: ({ connection_url, schema, table_name }) =>
    datasetUri(
      connection_url.replace(/^postgresql:/i, 'postgres:'),
      { table: `${schema ?? USUAL_SCHEMA}.${table_name}` },
      PORT,
    ),
  readBack: (config) => ({
    type: 'postgres',
    ...readTable(config, { connection_url: config.connection_url }),
  }),
  open: async (config, context) =>
    createSqlSink(config, await openPostgresDriver(config, context), context),
  probe: probePostgres,
});

function windowOf({
  window: { column, from, to },
}: NonNullable<PostgresSinkConfig['scope']>): string {
  return `${column} from ${from} to ${to}`;
}

function encodingsOf(config: PostgresSinkConfig): string[] {
  if (!takesBlocks(config)) return [];
  return [config.column_mapping.kind === 'auto' ? COPY_BINARY : JSON_LINES.name];
}
