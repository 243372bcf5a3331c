import { defineSource } from '../../kit/source.ts';
import { loadClient } from '../../lib/load-client.ts';
import { mongoUri } from '../../lib/mongodb/address.ts';
import { IDLE_FLUSH_MS, mongodbCdcConfig, type MongodbCdcConfig } from './config.ts';

/** The client comes with the module that uses it. */
function withClient<T>(load: () => Promise<T>): Promise<T> {
  return loadClient('mongodb', load);
}

export const mongodbCdcSource = defineSource<MongodbCdcConfig>({
  type: 'mongodb-cdc',
  description: 'Changes of documents in MongoDB, from its change streams.',
  config: mongodbCdcConfig,
  examples: [
    {
      connection_uri: 'mongodb://reader:secret@a.example:27017/?replicaSet=rs0',
      scope: { type: 'collection', database: 'shop', collection: 'orders' },
      full_document: 'update_lookup',
    },
    {
      connection_uri: 'mongodb://reader:secret@a.example:27017/?replicaSet=rs0',
      scope: { type: 'database', database: 'shop' },
      operation_types: ['insert', 'update', 'replace', 'delete'],
      aggregation_pipeline: [{ $match: { 'ns.coll': { $ne: 'sessions' } } }],
      full_document: 'required',
      full_document_before_change: 'when_available',
      start_from: { type: 'timestamp', timestamp_secs: 1_700_000_000 },
      idle_timeout: 5,
    },
  ],
  capabilities: () => ({
    replay: 'positional',
    bookmarks: true,
    encodings: [],
    unbounded: { redelivery: 'bookmark', idleFlushMs: IDLE_FLUSH_MS },
  }),
  datasetUri: ({ connection_uri: uri, scope }) => mongoUri(uri, ...placeOf(scope)),
  anchors: {
    take: async (config, context) =>
      (await withClient(() => import('./anchor.ts'))).takeAnchor(config, context),
    check: async (config, context, bookmark) =>
      (await withClient(() => import('./anchor.ts'))).checkAnchor(config, context, bookmark),
  },
  open: async (config, context) => {
    const { CdcSource } = await withClient(() => import('./source.ts'));
    return new CdcSource(config, context);
  },
  probe: async (config, context) =>
    (await withClient(() => import('./probe.ts'))).probeMongodbCdc(config, context),
});

function placeOf(scope: MongodbCdcConfig['scope']): string[] {
  if (scope.type === 'cluster') return [];
  return scope.type === 'database' ? [scope.database] : [scope.database, scope.collection];
}
