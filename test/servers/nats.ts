/** A NATS server for tests, with JetStream and its HTTP monitor; Debian's package has the program. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installedOrReason } from './installed.ts';
import {
  freePort,
  portAnswers,
  serverFolder,
  startServer,
  type TestServer,
} from './test-servers.ts';

export interface NatsTestServer extends TestServer {
  /** What it knows of its subscriptions, over HTTP. */
  readonly monitor: string;
  readonly port: number;
}

export interface NatsServerOptions {
  /** Lines of its settings besides those that every server of the tests has. */
  readonly settings?: string;
  readonly port?: number;
  readonly jetstream?: boolean;
  /** Kept when it stops, and made when it is missing. */
  readonly folder?: string;
}

export const nats = installedOrReason('nats-server', startNats);

export async function startNats(options: NatsServerOptions = {}): Promise<NatsTestServer> {
  const port = options.port ?? (await freePort());
  const [monitor, folder] = [await freePort(), await serverFolder('nats')];
  const store = options.folder ?? folder;
  const settings = join(folder, 'nats.conf');
  const own = [
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitor}"`,
    options.jetstream === false ? '' : `jetstream { store_dir: "${store}" }`,
    options.settings ?? '',
  ];
  await writeFile(settings, own.join('\n'));
  const server = await startServer({
    argv: ['nats-server', '-c', settings],
    port,
    folder,
    survives: ['SIGTERM', 'SIGKILL'],
    isReady: () => portAnswers(port),
  });
  return {
    ...server,
    url: `nats://127.0.0.1:${port}`,
    monitor: `http://127.0.0.1:${monitor}`,
    port,
  };
}
