import { defineSource } from '../../kit/source.ts';
import { datasetUri } from '../_sql/dataset-uri.ts';
import { postgresSourceConfig, type PostgresSourceConfig } from './config.ts';
import { discoverTables } from './discover.ts';
import { openPostgresSource } from './source.ts';

const PORT = 5432;

export const postgresSource = defineSource<PostgresSourceConfig>({
  type: 'postgres',
  description: 'Rows of a query on a PostgreSQL database.',
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
      replication: { type: 'incremental', column: 'updated_at', initial_value: '2024-01-01T00:00:00Z' },
    },
  ],
  capabilities: (config) => ({ replay: 'none', bookmarks: config.replication.type === 'incremental', encodings: [] }),
  datasetUri: (config) => datasetUri(config.connection_url, { query: config.query }, PORT),
  open: openPostgresSource,
  discover: (config) => discoverTables(config.connection_url),
});
