/**
 * Servers that are no package: built or fetched once into a folder of this machine by
 * `node test/servers/install.ts`. Suites that need one say so when it is missing.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export const SERVERS_FOLDER =
  process.env['HEADGATE_TEST_SERVERS'] ?? join(homedir(), '.cache/headgate-test-servers');

export const KAFKA_FOLDER = join(SERVERS_FOLDER, 'kafka-4.0.0');
/** Its programs for the command line, which measure as well. */
export const KAFKA_TOOLS_FOLDER = join(SERVERS_FOLDER, 'kafka-tools-4.0.0');
export const MONGO_FOLDER = join(SERVERS_FOLDER, 'mongo-java-server-1.47.0-oplog');

export const ELASTICMQ_FOLDER = join(SERVERS_FOLDER, 'elasticmq-1.6.11');
export const DYNAMODB_FOLDER = join(SERVERS_FOLDER, 'dynamodb-local-2.5.4');
export const KINESALITE_VERSION = '3.3.3';
export const KINESALITE_FOLDER = join(SERVERS_FOLDER, `kinesalite-${KINESALITE_VERSION}`);

export const CHDB_VERSION = '26.9.0';
export const CHDB_FOLDER = join(SERVERS_FOLDER, `chdb-${CHDB_VERSION}`);

/** Another program for tables of Delta Lake, which is no server. */
export const DELTALAKE_VERSION = '1.6.6';
export const DELTALAKE_FOLDER = join(SERVERS_FOLDER, `deltalake-${DELTALAKE_VERSION}`);

/** A source of Airbyte, which is no server. */
export const AIRBYTE_FAKER_VERSION = '7.2.1';
export const AIRBYTE_FAKER_FOLDER = join(
  SERVERS_FOLDER,
  `airbyte-source-faker-${AIRBYTE_FAKER_VERSION}`,
);

/** A destination of Airbyte that writes to a folder. */
export const AIRBYTE_AILAKE_VERSION = '0.1.16';
export const AIRBYTE_AILAKE_FOLDER = join(
  SERVERS_FOLDER,
  `airbyte-destination-ailake-${AIRBYTE_AILAKE_VERSION}`,
);

/** Another program for tables of Iceberg, and a catalog server with the same API as others. */
export const PYICEBERG_VERSION = '0.12.0';
export const PYICEBERG_FOLDER = join(SERVERS_FOLDER, `pyiceberg-${PYICEBERG_VERSION}`);
export const ICEBERG_REST_VERSION = '1.10.1';
export const ICEBERG_REST_FOLDER = join(SERVERS_FOLDER, `iceberg-rest-${ICEBERG_REST_VERSION}`);

export const AZURITE_VERSION = '3.37.0';
export const AZURITE_FOLDER = join(SERVERS_FOLDER, `azurite-${AZURITE_VERSION}`);

/** Programs of the Go module proxy. */
export const GO_SERVERS = {
  minio: 'github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c',
  'fake-gcs-server': 'github.com/fsouza/fake-gcs-server@v1.56.1',
} as const;

/** Programs of ours around packages of the Go module proxy; each has a folder below `go`. */
export const OWN_GO_SERVERS = ['pstest'] as const;

type GoServer = keyof typeof GO_SERVERS | (typeof OWN_GO_SERVERS)[number];

/** What is there when they are installed. */
const FETCHED_SERVERS = {
  kafka: KAFKA_FOLDER,
  'mongo-java-server': join(MONGO_FOLDER, 'Serve.class'),
  chdb: join(CHDB_FOLDER, 'chdb'),
  azurite: join(AZURITE_FOLDER, 'node_modules/azurite/dist/src/blob/main.js'),
  elasticmq: ELASTICMQ_FOLDER,
  'dynamodb-local': DYNAMODB_FOLDER,
  'iceberg-rest': ICEBERG_REST_FOLDER,
  kinesalite: join(KINESALITE_FOLDER, 'node_modules/kinesalite/cli.js'),
} as const;

export interface TestServer {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** `127.0.0.1:port`. */
  readonly address: string;
  stop(): Promise<void>;
}

export type ServerOrReason =
  | { readonly start: () => Promise<TestServer>; readonly reason?: undefined }
  | { readonly reason: string; readonly start?: undefined };

/** Throws instead of a reason where `HEADGATE_REQUIRE_SERVERS` names the server. */
export function serverOrReason(
  name: GoServer | keyof typeof FETCHED_SERVERS,
  start: () => Promise<TestServer>,
): ServerOrReason {
  const file = isFetched(name) ? FETCHED_SERVERS[name] : programOf(name);
  if (existsSync(file)) return { start };
  const reason = `no ${name}: run \`node test/servers/install.ts ${name}\``;
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes(name))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names ${name}, but there is ${reason}`);
  return { reason };
}

function isFetched(name: string): name is keyof typeof FETCHED_SERVERS {
  return Object.hasOwn(FETCHED_SERVERS, name);
}

export function startOf<S>(server: {
  readonly start?: (() => Promise<S>) | undefined;
  readonly reason?: string | undefined;
}): Promise<S> {
  return server.start === undefined ? Promise.reject(new Error(server.reason)) : server.start();
}

export function programOf(name: GoServer): string {
  return join(SERVERS_FOLDER, 'bin', name);
}

export interface ServerProcess {
  readonly argv: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly folder: string;
  /** A script, which starts others: all of them end with it. */
  readonly isScript?: boolean;
  /** Each connection has a process in a session of its own: all of them end with it. */
  readonly hasProcessPerConnection?: boolean;
  /** How long it may take; a minute unless given. */
  readonly startMs?: number;
  /** Where it can be restarted: after which endings it has what it confirmed. */
  readonly survives?: readonly Ending[];
  /** Resolves when it answers; rejects while it does not. */
  readonly isReady: (url: string) => Promise<unknown>;
}

const LONGEST_START_MS = 60_000;
const LONGEST_END_MS = 30_000;

/** How long a server that is restarted is away: who comes back at once finds nobody. */
export const AWAY_MS = 700;

/** How a server is ended to be started again. */
export type Ending = 'SIGTERM' | 'SIGKILL';

export interface Restartable {
  /** After which of them it still has everything that it confirmed. */
  readonly survives: readonly Ending[];
  /** Ends it, and starts it again on the same port with the same data; resolves when it answers. */
  restart(by: Ending): Promise<void>;
}

const restartable = new Map<number, Restartable>();

/** What this process started on the port and can restart. */
export function restartableOn(port: number): Restartable | undefined {
  return restartable.get(port);
}

export function canRestart(port: number, how: Restartable): void {
  restartable.set(port, how);
}

export async function startServer(server: ServerProcess): Promise<TestServer> {
  const { argv, variables, port, folder, isReady, startMs = LONGEST_START_MS } = server;
  const { isScript = false, hasProcessPerConnection = false, survives } = server;
  const [file = '', ...args] = argv;
  const address = `127.0.0.1:${port}`;
  const url = `http://${address}`;
  const begin = async (): Promise<ChildProcess> => {
    const begun = spawn(file, args, {
      cwd: folder,
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: isScript,
    });
    let said = '';
    for (const stream of [begun.stdout, begun.stderr])
      stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
    await untilReady(begun, () => isReady(url), { said: () => said, startMs, isScript });
    return begun;
  };
  let child = await begin();
  const end = async (by: Ending): Promise<void> => {
    const ended = new Promise((done) => child.once('exit', done));
    const connections = hasProcessPerConnection ? descendantsOf(child) : [];
    if (child.exitCode === null && child.signalCode === null && killAll(child, isScript, by))
      await ended;
    for (const pid of connections) endProcess(pid);
    // What a script started may end later than the script.
    const until = Date.now() + LONGEST_END_MS;
    if (isScript) while (isLeft(child) && Date.now() < until) await pause(50);
  };
  if (survives !== undefined)
    canRestart(port, {
      survives,
      async restart(by) {
        await end(by);
        await pause(AWAY_MS);
        child = await begin();
      },
    });
  return {
    url,
    address,
    async stop() {
      restartable.delete(port);
      await end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function killAll(child: ChildProcess, isScript: boolean, by: Ending = 'SIGKILL'): boolean {
  return isScript && child.pid !== undefined ? process.kill(-child.pid, by) : child.kill(by);
}

function descendantsOf({ pid }: ChildProcess): readonly number[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = new Set([pid]);
  // A process may stand before its parent, where numbers began again.
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const [one, parent] of all) if (found.has(parent)) found.add(one);
  }
  return [...found].filter((one): one is number => one !== undefined && one !== pid);
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whether anything that it started runs. */
function isLeft({ pid }: ChildProcess): boolean {
  try {
    return pid !== undefined && process.kill(-pid, 0);
  } catch {
    return false;
  }
}

async function untilReady(
  child: ChildProcess,
  isReady: () => Promise<unknown>,
  {
    said,
    startMs,
    isScript,
  }: {
    readonly said: () => string;
    readonly startMs: number;
    readonly isScript: boolean;
  },
): Promise<void> {
  const until = Date.now() + startMs;
  for (;;) {
    const answer = await isReady().then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (answer === undefined) return;
    if (child.exitCode !== null || Date.now() > until) {
      killAll(child, isScript);
      throw new Error(`a server of the tests does not start: ${answer}\n${said()}`);
    }
    await pause(100);
  }
}

export function serverFolder(name: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `headgate-${name}-`));
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Rejects while nobody listens. */
export async function portAnswers(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
