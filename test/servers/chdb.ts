/**
 * The engine of a new ClickHouse for tests: chdb, a package of PyPI, behind a small HTTP server of our
 * own. What it does not show is the HTTP interface of a server, which `clickhouse.ts` does.
 */
import { join } from 'node:path';
import {
  CHDB_FOLDER,
  freePort,
  serverFolder,
  serverOrReason,
  startServer,
  type TestServer,
} from './test-servers.ts';

export const chdb = serverOrReason('chdb', startChdb);

async function startChdb(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('chdb')];
  const program = join(import.meta.dirname, 'chdb-server.py');
  return startServer({
    argv: ['python3', program, String(port), join(folder, 'data')],
    variables: { PYTHONPATH: CHDB_FOLDER, TZ: 'UTC' },
    port,
    folder,
    isReady: async (url) => {
      if (!(await fetch(url)).ok) throw new Error('not ready');
    },
  });
}
