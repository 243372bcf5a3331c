/** Mosquitto, an MQTT server, for tests; Debian's package has the program. */
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

export interface MosquittoServer extends TestServer {
  readonly port: number;
  /** Where it takes connections inside of WebSocket. */
  readonly webPort: number;
}

export interface MosquittoOptions {
  /** Lines of its settings besides those that every server of the tests has. */
  readonly settings?: string;
  /** Files that it finds beside its settings, by their names. */
  readonly files?: Readonly<Record<string, string>>;
  readonly allowAnonymous?: boolean;
}

export const mosquitto = installedOrReason('mosquitto', startMosquitto);

export async function startMosquitto(options: MosquittoOptions = {}): Promise<MosquittoServer> {
  const [port, webPort, folder] = [
    await freePort(),
    await freePort(),
    await serverFolder('mosquitto'),
  ];
  const settings = join(folder, 'mosquitto.conf');
  for (const [name, content] of Object.entries(options.files ?? {}))
    await writeFile(join(folder, name), content, { mode: 0o600 });
  const own = [
    'user root',
    `allow_anonymous ${options.allowAnonymous !== false}`,
    'max_queued_messages 100000',
    'max_inflight_messages 0',
    'persistence true',
    `persistence_location ${folder}/`,
    options.settings ?? '',
    `listener ${webPort} 127.0.0.1`,
    'protocol websockets',
    `listener ${port} 127.0.0.1`,
  ];
  await writeFile(settings, `${own.join('\n')}\n`);
  const server = await startServer({
    argv: ['mosquitto', '-c', settings],
    port,
    folder,
    // It writes what it keeps when it ends.
    survives: ['SIGTERM'],
    isReady: () => portAnswers(port),
  });
  return { ...server, url: `mqtt://127.0.0.1:${port}`, port, webPort };
}
