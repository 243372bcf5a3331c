/** Puts TLS in front of a server of the tests that has none. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';

const folder = join(import.meta.dirname, '../../src/connectors/_http/test-certificates');

/** Files of an authority, and of a server at `127.0.0.1` and `localhost` that it has signed. */
export const CERTIFICATES = {
  ca: join(folder, 'ca.pem'),
  cert: join(folder, 'server.pem'),
  key: join(folder, 'server.key'),
} as const;

export interface TlsProxy {
  readonly port: number;
  close(): Promise<void>;
}

export async function tlsProxy(port: number): Promise<TlsProxy> {
  const open = new Set<Socket>();
  const server = createServer(
    { cert: readFileSync(CERTIFICATES.cert), key: readFileSync(CERTIFICATES.key) },
    (client) => {
      const upstream = connect({ host: '127.0.0.1', port });
      for (const socket of [client, upstream]) {
        open.add(socket);
        const other = socket === client ? upstream : client;
        socket
          .on('error', () => {})
          .on('close', () => {
            open.delete(socket);
            other.destroy();
          });
      }
      client.pipe(upstream).pipe(client);
    },
  );
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
