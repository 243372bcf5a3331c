import { defineSink, type SinkCapabilities } from '../../kit/sink.ts';
import { defineSource } from '../../kit/source.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import { loadClient } from '../../lib/load-client.ts';
import { mongoPlace, mongoUri } from '../../lib/mongodb/address.ts';
import {
  mongodbSinkConfig,
  mongodbSourceConfig,
  type MongodbSinkConfig,
  type MongodbSourceConfig,
} from './config.ts';

/** The client comes with the module that uses it. */
function withClient<T>(load: () => Promise<T>): Promise<T> {
  return loadClient('mongodb', load);
}

export const mongodbSource = defineSource<MongodbSourceConfig>({
  type: 'mongodb',
  description: 'Reads the documents of a MongoDB collection.',
  config: mongodbSourceConfig,
  examples: [
    {
      connection_uri: 'mongodb://reader:secret@db.example:27017',
      database: 'shop',
      collection: 'orders',
    },
    {
      connection_uri: 'mongodb://reader:secret@db.example:27017/?readPreference=secondary',
      database: 'shop',
      collection: 'orders',
      filter: { status: 'paid', at: { $gte: { $date: '2024-01-01T00:00:00Z' } } },
      projection: { _id: 1, total: 1, at: 1 },
      sort: { at: 1 },
      limit: 10_000,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ connection_uri: uri, database, collection }) =>
    mongoUri(uri, database, collection),
  open: async (config, context) => {
    const { openMongodbSource } = await withClient(() => import('./read/source.ts'));
    return openMongodbSource(config, context);
  },
  discover: async (config, context) => {
    const { discoverCollections } = await withClient(() => import('./read/discover.ts'));
    return discoverCollections(config, context);
  },
});

export const mongodbSink = defineSink<MongodbSinkConfig>({
  type: 'mongodb',
  description: 'Writes documents to a MongoDB collection.',
  config: mongodbSinkConfig,
  examples: [
    {
      connection_uri: 'mongodb://writer:secret@db.example:27017',
      database: 'shop',
      collection: 'events',
    },
    {
      connection_uri: 'mongodb://writer:secret@a.example:27017,b.example:27017/?replicaSet=rs0',
      database: 'shop',
      collection: 'customers',
      write_mode: 'upsert',
      key: ['_id'],
      delete_marker: { field: '__op', values: ['d'] },
    },
  ],
  capabilities: sinkCapabilities,
  datasetUri: ({ connection_uri: uri, database, collection }) =>
    mongoUri(uri, database, collection),
  place: ({ connection_uri: uri, database, collection }) => mongoPlace(uri, database, collection),
  open: async (config, context) => {
    const { MongodbSink } = await withClient(() => import('./write/sink.ts'));
    return new MongodbSink(config, context);
  },
  probe: async (config, context) => {
    const { probeMongodb } = await withClient(() => import('./write/probe.ts'));
    return probeMongodb(config, context);
  },
});

function sinkCapabilities({ write_mode: writeMode, key }: MongodbSinkConfig): SinkCapabilities {
  const overwrite = writeMode === 'overwrite';
  return {
    writeModes: ['append', 'upsert', 'delete', 'overwrite'],
    writeMode,
    key: isKeyed(writeMode) ? key : [],
    atomicity: 'best_effort',
    perRow: true,
    token: !overwrite,
    fenced: overwrite,
    rollback: 'keeps no rollback log in MongoDB',
    schema: 'none',
    flushDurable: !overwrite,
    encodings: [],
    sweep: writeMode === 'upsert',
    idempotent: isKeyed(writeMode),
  };
}
