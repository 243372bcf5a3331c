import { defineSource } from '../../kit/source.ts';
import { plainUrl } from '../_mssql/fields.ts';
import { IDLE_FLUSH_MS, mssqlCdcConfig, type MssqlCdcConfig } from './config.ts';

export const mssqlCdcSource = defineSource<MssqlCdcConfig>({
  type: 'mssql-cdc',
  description: 'Changes of tables in Microsoft SQL Server, from its change data capture.',
  config: mssqlCdcConfig,
  examples: [
    {
      connection_url: 'mssql://reader:secret@db.example:1433/shop',
      capture_instances: ['dbo_orders'],
    },
    {
      connection_string: 'Server=tcp:db.example,1433;Database=shop;User ID=reader;Password=secret',
      tls: { type: 'require' },
      capture_instances: ['dbo_orders', 'dbo_customers'],
      start_position: 'earliest',
      poll_interval: 0.5,
      idle_timeout: 5,
      max_staged_records: 100_000,
    },
  ],
  capabilities: () => ({
    replay: 'positional',
    bookmarks: true,
    encodings: [],
    unbounded: { redelivery: 'bookmark', idleFlushMs: IDLE_FLUSH_MS },
  }),
  datasetUri: (config) =>
    `${plainUrl(config)}?capture_instances=${config.capture_instances.join(',')}`,
  anchors: {
    take: async (config, context) => (await import('./anchor.ts')).takeAnchor(config, context),
    check: async (config, context, bookmark) =>
      (await import('./anchor.ts')).checkAnchor(config, context, bookmark),
  },
  open: async (config, context) => new (await import('./source.ts')).CdcSource(config, context),
  probe: async (config, context) => (await import('./probe.ts')).probeMssqlCdc(config, context),
  discover: async (config, context) =>
    (await import('./discover.ts')).discoverInstances(config, context),
});
