import { defineSource } from '../../kit/source.ts';
import { datasetUri } from '../_sql/dataset-uri.ts';
import { checkAnchor, takeAnchor } from './anchor.ts';
import { postgresCdcConfig, type PostgresCdcConfig } from './config.ts';
import { probePostgresCdc } from './probe.ts';
import { CdcSource, IDLE_FLUSH_MS } from './source.ts';

const PORT = 5432;

export const postgresCdcSource = defineSource<PostgresCdcConfig>({
  type: 'postgres-cdc',
  description: 'Changes of tables in a PostgreSQL database, by logical replication.',
  config: postgresCdcConfig,
  examples: [
    {
      connection_url: 'postgres://replicator:secret@db.example:5432/shop',
      slot_name: 'headgate_orders',
      publication_name: 'orders',
    },
    {
      connection_url: 'postgres://replicator:secret@db.example:5432/shop',
      slot_name: 'headgate_shop',
      publication_name: 'shop',
      tls: { mode: 'verify_full', ca_path: 'ca.pem' },
      idle_timeout: 5,
      max_messages: 1_000_000,
    },
  ],
  capabilities: ({ slot_type: type }) =>
    type === 'temporary'
      ? { replay: 'none', bookmarks: false, encodings: [] }
      : {
          replay: 'positional',
          bookmarks: true,
          encodings: [],
          unbounded: { redelivery: 'bookmark', idleFlushMs: IDLE_FLUSH_MS },
        },
  datasetUri: ({ connection_url: url, publication_name: publication }) =>
    datasetUri(url, { publication }, PORT),
  anchors: { take: takeAnchor, check: checkAnchor },
  open: (config, context) => Promise.resolve(new CdcSource(config, context)),
  probe: probePostgresCdc,
});
