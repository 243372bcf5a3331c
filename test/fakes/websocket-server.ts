/** A WebSocket server in this process. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export interface FakeWebsocketServer {
  readonly url: string;
  close(): Promise<void>;
}

/** `talk` is called with each connection. */
export async function startWebsocketServer(
  talk: (socket: WebSocket, request: IncomingMessage) => void,
): Promise<FakeWebsocketServer> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket, request) => {
    socket.on('error', () => {});
    talk(socket, request);
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of server.clients) socket.terminate();
      await new Promise((done) => server.close(done));
    },
  };
}
