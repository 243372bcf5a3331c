/** A network between a client and a server, which tests cut, hold up and listen to. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Ends all connections, and refuses new ones. */
  cut(): void;
  /** Says nothing any more, to connections that are open and to new ones. */
  freeze(): void;
  /** Lets everything pass again. */
  heal(): void;
  /** Cuts the connection on which the client sends this text, after the server got it. */
  cutAfter(text: string): void;
  /** The same, but the connection stays open, and nothing more is heard on it. */
  silenceAfter(text: string): void;
  close(): Promise<void>;
}

export async function tcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let mode: 'open' | 'cut' | 'frozen' = 'open';
  let trap: { readonly text: string; readonly isSilent: boolean } | undefined;
  const server = createServer((client) => {
    if (mode === 'cut') {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => {
      upstream.write(bytes);
      // The server has the statement, and its answer finds nobody.
      if (trap !== undefined && bytes.includes(trap.text)) {
        upstream.removeAllListeners('data');
        if (trap.isSilent) upstream.resume();
        else upstream.once('data', end);
        trap = undefined;
      }
    });
    upstream.on('data', (bytes) => client.write(bytes));
    if (mode === 'frozen') for (const socket of pair) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const all = (): Socket[] => [...pairs].flat();
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      mode = 'cut';
      for (const socket of all()) socket.destroy();
    },
    freeze() {
      mode = 'frozen';
      for (const socket of all()) socket.pause();
    },
    heal() {
      mode = 'open';
      for (const socket of all()) socket.resume();
    },
    cutAfter(text) {
      trap = { text, isSilent: false };
    },
    silenceAfter(text) {
      trap = { text, isSilent: true };
    },
    async close() {
      for (const socket of all()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
