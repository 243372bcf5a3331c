import { defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { sqlSinkCapabilities } from '../_sql/sink-fields.ts';
import {
  oracleSinkConfig,
  oracleSourceConfig,
  queryDoubts,
  type OracleSinkConfig,
  type OracleSourceConfig,
} from './config.ts';
import { plainAddress } from './fields.ts';
import { oracleSlices } from './read/slices.ts';
import { parseTable } from './names.ts';

export const oracleSource = defineSource<OracleSourceConfig>({
  type: 'oracle',
  description: 'Rows of a query on Oracle Database.',
  boundKeys: ['query'],
  config: oracleSourceConfig,
  examples: [
    {
      connect_string: 'db.example:1521/shop',
      username: 'reader',
      password: 'secret',
      query: 'SELECT id, name FROM customers WHERE region = :1',
      params: ['eu'],
    },
    {
      host: 'db.example',
      service_name: 'shop',
      username: 'reader',
      password: 'secret',
      query: 'SELECT * FROM sales.orders',
      replication: {
        type: 'incremental',
        column: 'updated_at',
        initial_value: '2024-01-01T00:00:00',
      },
    },
  ],
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: config.replication.type === 'incremental',
    encodings: [],
  }),
  doubts: queryDoubts,
  datasetUri: (config) => `${plainAddress(config)}?query=${config.query}`,
  open: async (config, context) =>
    (await import('./read/source.ts')).openOracleSource(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  slices: oracleSlices,
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
});

export const oracleSink = defineSink<OracleSinkConfig>({
  type: 'oracle',
  description: 'Rows of a table in Oracle Database.',
  config: oracleSinkConfig,
  examples: [
    {
      connect_string: 'db.example:1521/shop',
      username: 'writer',
      password: 'secret',
      table: 'events',
    },
    {
      host: 'db.example',
      service_name: 'shop',
      username: 'writer',
      password: 'secret',
      table: 'sales.customers',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  capabilities: (config) => ({
    ...sqlSinkCapabilities(config),
    rollback: 'keeps no rollback log in Oracle Database',
    fenced: config.write_mode === 'overwrite',
  }),
  datasetUri: placeOf,
  place: placeOf,
  open: async (config, context) =>
    (await import('./write/sink.ts')).openOracleSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function placeOf(config: OracleSinkConfig): string {
  const { owner, table } = parseTable(config.table_name);
  return `${plainAddress(config)}?table=${owner === undefined ? table : `${owner}.${table}`}`;
}
