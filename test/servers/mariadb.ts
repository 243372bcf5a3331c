/**
 * MariaDB for tests. `HEADGATE_TEST_MYSQL_URL` names a server to use (of MySQL or MariaDB); otherwise
 * `mariadbd` is started in a folder of its own. Where neither is there, `mariadbOrReason` says so and
 * suites are skipped with that reason.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createConnection, createPool, type Pool } from 'mysql2/promise';
import { AWAY_MS, canRestart, freePort } from './test-servers.ts';

export interface MariadbServer {
  /** Of its first user, without a database. */
  readonly url: string;
  stop(): Promise<void>;
}

export type MariadbOrReason =
  | {
      readonly start: (options?: readonly string[]) => Promise<MariadbServer>;
      readonly reason?: undefined;
    }
  | { readonly reason: string; readonly start?: undefined };

/**
 * Throws instead where `HEADGATE_REQUIRE_SERVERS` asks for it. `isOwn`: with options that a server of
 * somebody else does not have, and for what is not to be done to one.
 */
export function mariadbOrReason({ isOwn = false } = {}): MariadbOrReason {
  const url = process.env['HEADGATE_TEST_MYSQL_URL'];
  if (url !== undefined && !isOwn) return { start: async () => ({ url, stop: async () => {} }) };
  const binary = ['mariadbd', '/usr/sbin/mariadbd'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  );
  if (binary !== undefined) return { start: (options) => startMariadb(binary, options) };
  const named = isOwn ? '' : 'set HEADGATE_TEST_MYSQL_URL, or ';
  const reason = `no MariaDB: ${named}install mariadb-server`;
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('mariadb'))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names mariadb, but there is ${reason}`);
  return { reason };
}

export const PASSWORD = 'Tr0ub4dor%26';

/** The settings make it small; what it promises about durability stays as it is. */
async function startMariadb(binary: string, more: readonly string[] = []): Promise<MariadbServer> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-mariadb-'));
  const user = userInfo().username;
  // A server that starts removes the temporary tables of others from a folder that they share.
  const scratch = join(folder, 'tmp');
  mkdirSync(scratch);
  const options = [
    '--no-defaults',
    `--datadir=${join(folder, 'data')}`,
    `--tmpdir=${scratch}`,
    `--user=${user}`,
  ];
  execFileSync(
    'mariadb-install-db',
    [...options, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { stdio: 'pipe' },
  );
  const port = await freePort();
  const argv = [
    ...options,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, 'server.sock')}`,
    '--local-infile=1',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-file-size=64M',
    '--max-connections=300',
    ...more,
  ];
  let child = await answering(binary, argv, { port, user: 'root' });
  const end = async (by: NodeJS.Signals): Promise<void> => {
    const ended = new Promise((done) => child.once('exit', done));
    if (child.exitCode === null && child.signalCode === null && child.kill(by)) await ended;
  };
  // A run that is stopped leaves no server behind, which may still write while it is being killed.
  const leave = (): void => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  process.once('exit', leave);
  const stop = async (): Promise<void> => {
    process.off('exit', leave);
    await end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  const root = await createConnection({ host: '127.0.0.1', port, user: 'root' });
  await root.query(`CREATE USER 'tester'@'%' IDENTIFIED BY '${decodeURIComponent(PASSWORD)}'`);
  await root.query(`GRANT ALL ON *.* TO 'tester'@'%' WITH GRANT OPTION`);
  await root.end();
  canRestart(port, {
    survives: ['SIGTERM', 'SIGKILL'],
    async restart(by) {
      await end(by);
      await pause(AWAY_MS);
      child = await answering(binary, argv, { port, user: 'root' });
    },
  });
  return { url: `mysql://tester:${PASSWORD}@127.0.0.1:${port}/`, stop };
}

/** Resolves when the server takes the login. */
async function answering(
  binary: string,
  argv: readonly string[],
  login: { readonly port: number; readonly user: string },
): Promise<ChildProcess> {
  const child = spawn(binary, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the MariaDB of the tests ended:\n${said}`);
    const connection = await createConnection({ host: '127.0.0.1', ...login }).catch(
      () => undefined,
    );
    if (connection !== undefined) {
      await connection.end();
      return child;
    }
    await pause(50);
  }
}

let server: Promise<MariadbServer> | undefined;
let databases = 0;
let inUse = 0;

export interface FreshMariadb {
  readonly name: string;
  readonly url: string;
  /** One connection, made again where the server was restarted. */
  readonly client: Pool;
  drop(): Promise<void>;
}

/** An empty database of its own, on a server that runs until the last of them is dropped. */
export async function freshMariadb(): Promise<FreshMariadb> {
  const found = mariadbOrReason();
  if (found.start === undefined) throw new Error(found.reason);
  inUse += 1;
  server ??= found.start();
  const used = await server;
  const { url } = used;
  const name = `t${process.pid}_${(databases += 1)}`;
  const maker = await createConnection(url);
  await maker.query(`CREATE DATABASE \`${name}\` CHARACTER SET utf8mb4`);
  await maker.end();
  const client = createPool({
    uri: `${url}${name}`,
    connectionLimit: 1,
    multipleStatements: true,
    supportBigNumbers: true,
  });
  return {
    name,
    url: `${url}${name}`,
    client,
    async drop() {
      await client.query(`DROP DATABASE \`${name}\``);
      await client.end();
      inUse -= 1;
      if (inUse > 0) return;
      server = undefined;
      await used.stop();
    },
  };
}
