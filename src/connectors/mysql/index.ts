import { JSON_LINES } from '../../kit/json-lines.ts';
import { defineSink } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { backticked } from '../../lib/sql/mysql-address.ts';
import { datasetUri } from '../_sql/dataset-uri.ts';
import { createSqlSink } from '../_sql/sink.ts';
import { canSweep, readTable, sqlSinkCapabilities, takesColumns } from '../_sql/sink-fields.ts';
import {
  isFenced,
  mysqlSinkConfig,
  mysqlSourceConfig,
  type MysqlSinkConfig,
  type MysqlSourceConfig,
} from './config.ts';
import { mysqlSlices } from './read/slices.ts';

const PORT = 3306;

export const mysqlSource = defineSource<MysqlSourceConfig>({
  type: 'mysql',
  description: 'Rows of a query on a MySQL or MariaDB database.',
  boundKeys: ['query'],
  config: mysqlSourceConfig,
  examples: [
    {
      connection_url: 'mysql://reader:secret@db.example:3306/shop',
      query: 'SELECT id, name FROM customers WHERE region = ?',
      params: ['eu'],
    },
    {
      connection_url: 'mysql://reader:secret@db.example:3306/shop',
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
    encodings: [JSON_LINES.name],
    columns: true,
  }),
  datasetUri: (config) => datasetUri(addressOf(config), { query: config.query }, PORT),
  open: async (config, context) => (await import('./source.ts')).openMysqlSource(config, context),
  describe: async (config, context) =>
    (await import('./read/describe.ts')).describeResult(config, context),
  slices: mysqlSlices,
  discover: async (config) =>
    (await import('./read/discover.ts')).discoverTables(config.connection_url),
});

export const mysqlSink = defineSink<MysqlSinkConfig>({
  type: 'mysql',
  description: 'Rows of a table in a MySQL or MariaDB database.',
  config: mysqlSinkConfig,
  examples: [
    { connection_url: 'mysql://writer:secret@db.example:3306/shop', table_name: 'events' },
    {
      connection_url: 'mysql://writer:secret@db.example:3306/shop',
      table_name: 'customers',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['customer_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  capabilities: (config) => ({
    ...sqlSinkCapabilities(config),
    columns: takesColumns(config),
    rollback: 'keeps no rollback log in MySQL',
    sweep: canSweep(config),
    fenced: isFenced(config),
  }),
  datasetUri: (config) => datasetUri(addressOf(config), { table: config.table_name }, PORT),
  place: (config) => datasetUri(addressOf(config), { table: config.table_name }, PORT),
  readBack: (config) => ({
    type: 'mysql',
    ...readTable(config, { connection_url: config.connection_url }, backticked),
  }),
  open: async (config, context) => {
    const { openMysqlDriver } = await import('./driver.ts');
    return createSqlSink(config, await openMysqlDriver(config, context), context);
  },
  probe: async (config) => (await import('./probe.ts')).probeMysql(config),
});

/** Both names of the system are one place. */
function addressOf({ connection_url: url }: { readonly connection_url: string }): string {
  return url.replace(/^mariadb:/i, 'mysql:');
}
