import { defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { plainUrl } from '../_mssql/fields.ts';
import { bracketed, parseTable } from '../_mssql/quote.ts';
import { canSweep, readTable, sqlSinkCapabilities } from '../_sql/sink-fields.ts';
import {
  mssqlSinkConfig,
  mssqlSourceConfig,
  queryDoubts,
  sinkDoubts,
  type MssqlSinkConfig,
  type MssqlSourceConfig,
} from './config.ts';
import { mssqlSlices } from './read/slices.ts';

export const mssqlSource = defineSource<MssqlSourceConfig>({
  type: 'mssql',
  description: 'Rows of a query on Microsoft SQL Server or Azure SQL Database.',
  boundKeys: ['query'],
  config: mssqlSourceConfig,
  examples: [
    {
      connection_url: 'mssql://reader:secret@db.example:1433/shop',
      query: 'SELECT id, name FROM dbo.customers WHERE region = @P1',
      params: ['eu'],
    },
    {
      connection_string: 'Server=tcp:db.example,1433;Database=shop;User ID=reader;Password=secret',
      tls: { type: 'require' },
      query: 'SELECT * FROM sales.orders',
      replication: {
        type: 'incremental',
        column: 'updated_at',
        initial_value: '2024-01-01T00:00:00',
      },
    },
  ],
  doubts: queryDoubts,
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: config.replication.type === 'incremental',
    encodings: [],
  }),
  datasetUri: (config) => `${plainUrl(config)}?query=${config.query}`,
  open: async (config, context) =>
    (await import('./read/source.ts')).openMssqlSource(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSource(config, context),
  describe: async (config, context) =>
    (await import('./read/source.ts')).describeResult(config, context),
  slices: mssqlSlices,
  discover: async (config, context) =>
    (await import('./read/discover.ts')).discoverTables(config, context),
});

export const mssqlSink = defineSink<MssqlSinkConfig>({
  type: 'mssql',
  description: 'Rows of a table in Microsoft SQL Server or Azure SQL Database.',
  config: mssqlSinkConfig,
  examples: [
    { connection_url: 'mssql://writer:secret@db.example/shop', table: 'events' },
    {
      connection_url: 'mssql://writer:secret@db.example/shop',
      table: 'sales.customers',
      column_mapping: { type: 'auto_columns' },
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  doubts: sinkDoubts,
  capabilities: (config) => {
    const shared = sqlSinkCapabilities(config);
    return {
      ...shared,
      rollback: 'keeps no rollback log in SQL Server',
      sweep: canSweep(config),
      fenced: true,
    };
  },
  datasetUri: placeOf,
  place: placeOf,
  readBack: (config) => {
    const { connection_url: url, connection_string: text, tls } = config;
    const connection = {
      ...(url === undefined ? {} : { connection_url: url }),
      ...(text === undefined ? {} : { connection_string: text }),
      ...(tls === undefined
        ? {}
        : {
            tls: {
              type: tls.type,
              ...(tls.ca_cert_path === undefined ? {} : { ca_cert_path: tls.ca_cert_path }),
            },
          }),
    };
    const place = parseTable(config.table_name);
    const named = { ...place, table_name: place.table, column_mapping: config.column_mapping };
    return { type: 'mssql', ...readTable(named, connection, bracketed) };
  },
  open: async (config, context) => (await import('./write/sink.ts')).openMssqlSink(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeSink(config, context),
});

function placeOf(config: MssqlSinkConfig): string {
  const { schema, table } = parseTable(config.table_name);
  return `${plainUrl(config)}?table=${schema === undefined ? table : `${schema}.${table}`}`;
}
