import { join } from 'node:path';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import {
  icebergSinkConfig,
  icebergSourceConfig,
  type IcebergSinkConfig,
  type IcebergSourceConfig,
} from './config.ts';
import { propertyDoubts } from './properties.ts';

const REST = { type: 'rest', uri: 'https://catalog.example.com', warehouse: 'lake' };
const SQL = { type: 'sql', uri: 'sqlite:///data/catalog.db', warehouse: 's3://lake/warehouse' };

const GLUE = {
  type: 'glue',
  warehouse: 's3://lake/warehouse',
  properties: { 'client.region': 'eu-north-1' },
};

export const icebergSource = defineSource<IcebergSourceConfig>({
  type: 'iceberg',
  description: 'Reads a table of Apache Iceberg: as it is, as it was, or what was added to it.',
  config: icebergSourceConfig,
  examples: [
    { catalog: { type: 'file', warehouse: 'lake' }, table: 'sales.orders' },
    {
      catalog: { ...REST, credential: 'ID:SECRET' },
      table: 'sales.orders',
      columns: ['id', 'amount'],
      filter: "ordered_at >= '2026-01-01' and amount > 100",
    },
    { catalog: SQL, table: 'sales.orders', mode: 'incremental', on_rewrite: 'full_refresh' },
  ],
  capabilities: ({ mode }) => ({
    replay: 'none',
    bookmarks: mode === 'incremental',
    encodings: [],
  }),
  doubts: propertyDoubts,
  datasetUri: ({ catalog, table }) => `iceberg://${catalog.type}/${table}`,
  divides: () => 'files',
  open: async (config, context) =>
    (await import('./read/source.ts')).IcebergSource.open(config, context),
  probe: async (config, context) => {
    const { tableName } = await import('./read/source.ts');
    const { catalog, table } = config;
    return (await import('./probe.ts')).probeCatalog({ catalog, name: tableName(table) }, context);
  },
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
});

export const icebergSink = defineSink<IcebergSinkConfig>({
  type: 'iceberg',
  description: 'Adds records to a table of Apache Iceberg, in atomic commits.',
  config: icebergSinkConfig,
  examples: [
    { catalog: { type: 'file', warehouse: 'lake' }, namespace: ['sales'], table: 'orders' },
    {
      catalog: { ...REST, properties: { token: 'TOKEN' } },
      namespace: ['sales', 'eu'],
      table: 'orders',
      partition_spec: [{ source: 'ordered_at', transform: 'day' }],
    },
    { catalog: SQL, namespace: ['sales'], table: 'orders', parquet: { compression: 'zstd' } },
    { catalog: GLUE, namespace: ['sales'], table: 'orders' },
  ],
  capabilities: ({ merge_schema: merges }) => ({
    ...APPEND_ONLY,
    atomicity: 'per_row',
    perRow: true,
    token: true,
    schema: merges ? 'none' : 'read',
    rollback: 'keeps no rollback log; earlier snapshots of the table can be read and restored',
  }),
  doubts: propertyDoubts,
  datasetUri: ({ catalog, namespace, table }) =>
    `iceberg://${catalog.type}/${[...namespace, table].join('.')}`,
  // The address of a data set tells neither the catalog nor the warehouse.
  place: ({ catalog, namespace, table }) =>
    [
      catalog.type,
      withoutLogin(catalog.uri ?? ''),
      catalog.warehouse ?? '',
      ...namespace,
      table,
    ].join(' '),
  readBack: (config) => ({ type: 'iceberg', config: whereOf(config) }),
  temporary: (config, folder) => ({
    ...config,
    catalog: { type: 'file', warehouse: join(folder, 'iceberg') },
  }),
  open: async (config, context) =>
    (await import('./write/sink.ts')).IcebergSink.open(config, context),
  probe: async ({ catalog, namespace, table, create_table: creates }, context) =>
    (await import('./probe.ts')).probeCatalog(
      { catalog, name: { namespace, table }, creates },
      context,
    ),
});

function withoutLogin(uri: string): string {
  return uri.replace(/\/\/[^/@]*@/, '//');
}

function whereOf({ catalog, namespace, table }: IcebergSinkConfig): JsonObject {
  return JSON.parse(
    JSON.stringify({ catalog, table: [...namespace, table].join('.') }),
  ) as JsonObject;
}
