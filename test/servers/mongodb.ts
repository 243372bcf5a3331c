/**
 * mongo-java-server for tests: another program's idea of MongoDB's protocol, in memory. It has
 * neither sessions nor transactions.
 */
import { MongoClient } from 'mongodb';
import {
  freePort,
  MONGO_FOLDER,
  serverFolder,
  serverOrReason,
  startServer,
  type TestServer,
} from './test-servers.ts';
import { delimiter, join } from 'node:path';

/** Its address is `mongodb://` and `address`. */
export const mongoJavaServer = serverOrReason('mongo-java-server', () => startMongo([]));
/** With a log of its changes, which it tells. */
export const mongoWithChanges = serverOrReason('mongo-java-server', () => startMongo(['oplog']));

async function startMongo(more: readonly string[]): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('mongodb')];
  const classes = `${MONGO_FOLDER}${delimiter}${join(MONGO_FOLDER, '*')}`;
  return startServer({
    argv: ['java', '-Xmx300m', '-cp', classes, 'Serve', String(port), ...more],
    port,
    folder,
    async isReady() {
      const client = new MongoClient(`mongodb://127.0.0.1:${port}`, {
        serverSelectionTimeoutMS: 1000,
      });
      try {
        await client.db('admin').command({ ping: 1 });
      } finally {
        await client.close();
      }
    },
  });
}
