/** Dynalite in this process: tables with their expressions, over a socket. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Reply, SeenRequest } from '../http-server.ts';

type Dynalite = (options: Readonly<Record<string, number>>) => Server;

export interface Tables {
  /** Answers a request that came to another server. */
  forward(request: SeenRequest): Promise<Reply>;
  close(): Promise<void>;
}

export async function startTables(): Promise<Tables> {
  const make = createRequire(import.meta.url)('dynalite') as Dynalite;
  const server = make({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async forward({ method, headers, body }) {
      const kept = ['content-type', 'x-amz-target', 'x-amz-date', 'authorization'].flatMap(
        (name): [string, string][] => (headers[name] === undefined ? [] : [[name, headers[name]]]),
      );
      const answer = await fetch(url, { method, headers: kept, body });
      return {
        status: answer.status,
        headers: { 'content-type': 'application/x-amz-json-1.0' },
        body: await answer.text(),
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
