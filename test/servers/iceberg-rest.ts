/** The REST catalog server of Apache Iceberg, for tests; its tables are on this machine. */
import { join } from 'node:path';
import {
  freePort,
  ICEBERG_REST_FOLDER,
  serverFolder,
  serverOrReason,
  startServer,
  type TestServer,
} from './test-servers.ts';

export const icebergRest = serverOrReason('iceberg-rest', startIcebergRest);

async function startIcebergRest(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('iceberg-rest')];
  const classes = join(ICEBERG_REST_FOLDER, '*');
  return startServer({
    argv: ['java', '-Xmx512m', '-cp', classes, 'org.apache.iceberg.rest.RESTCatalogServer'],
    variables: {
      CATALOG_REST_PORT: String(port),
      CATALOG_WAREHOUSE: `file://${join(folder, 'warehouse')}`,
    },
    port,
    folder,
    isReady: (url) => fetch(`${url}/v1/config`),
  });
}
