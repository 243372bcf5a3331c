import { defineSource } from '../../kit/source.ts';
import { datasetUri } from '../_sql/dataset-uri.ts';
import { IDLE_FLUSH_MS, mysqlCdcConfig, type MysqlCdcConfig } from './config.ts';

const PORT = 3306;

export const mysqlCdcSource = defineSource<MysqlCdcConfig>({
  type: 'mysql-cdc',
  description: 'Changes of tables in a MySQL or MariaDB server, from its binary log.',
  config: mysqlCdcConfig,
  examples: [
    {
      connection_url: 'mysql://replicator:secret@db.example:3306/shop',
      server_id: 5001,
      include_tables: ['shop.orders'],
    },
    {
      connection_url: 'mysql://replicator:secret@db.example:3306',
      server_id: 5002,
      exclude_tables: ['shop.sessions'],
      start_position: { type: 'gtid_set', value: '0-1-270' },
      tls: { mode: 'verify_full', ca_path: 'ca.pem' },
      idle_timeout: 5,
    },
  ],
  capabilities: () => ({
    replay: 'positional',
    bookmarks: true,
    encodings: [],
    unbounded: { redelivery: 'bookmark', idleFlushMs: IDLE_FLUSH_MS },
  }),
  // Both names of the system are one place.
  datasetUri: ({ connection_url: url, include_tables: tables }) =>
    datasetUri(url.replace(/^mariadb:/i, 'mysql:'), { tables }, PORT),
  anchors: {
    take: async (config, context) => (await import('./anchor.ts')).takeAnchor(config, context),
    check: async (config, context, bookmark) =>
      (await import('./anchor.ts')).checkAnchor(config, context, bookmark),
  },
  open: async (config, context) => new (await import('./source.ts')).CdcSource(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeMysqlCdc(config, context),
});
