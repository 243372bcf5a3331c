/**
 * ClickHouse for tests: the server of Debian's package, which is of 2018, in a folder of its own.
 * `HEADGATE_TEST_CLICKHOUSE_URL` names a newer one to use in its place, with the login of a user who
 * may do everything.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installedOrReason, type InstalledOrReason } from './installed.ts';
import { freePort, serverFolder, startServer, type TestServer } from './test-servers.ts';

export const PASSWORD = 'Tr0ub4dor-4';
export const USER = 'tester';

export interface ClickhouseServer {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** Runs a statement; gives the answer as text. */
  ask(statement: string, settings?: Readonly<Record<string, string>>): Promise<string>;
  stop(): Promise<void>;
}

export const clickhouse: InstalledOrReason<ClickhouseServer> = found();

function found(): InstalledOrReason<ClickhouseServer> {
  const url = process.env['HEADGATE_TEST_CLICKHOUSE_URL'];
  if (url === undefined) return installedOrReason('clickhouse-server', startClickhouse);
  const { username, password, origin } = new URL(url);
  return {
    start: () =>
      Promise.resolve(asked({ url: origin, stop: async () => {} }, { user: username, password })),
  };
}

const settings = (folder: string, ports: { readonly http: number; readonly tcp: number }) => `
<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <http_port>${ports.http}</http_port>
  <tcp_port>${ports.tcp}</tcp_port>
  <listen_host>127.0.0.1</listen_host>
  <path>${folder}/data/</path>
  <tmp_path>${folder}/tmp/</tmp_path>
  <users_config>${folder}/users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
  <timezone>UTC</timezone>
</yandex>
`;

const users = `
<yandex>
  <profiles><default></default><reading><readonly>1</readonly></reading></profiles>
  <quotas><default></default></quotas>
  <users>
    <${USER}>
      <password>${PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota>
    </${USER}>
    <reader>
      <password>${PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>
      <profile>reading</profile><quota>default</quota>
    </reader>
  </users>
</yandex>
`;

async function startClickhouse(): Promise<ClickhouseServer> {
  const [http, tcp] = [await freePort(), await freePort()];
  const folder = await serverFolder('clickhouse');
  for (const name of ['data', 'tmp']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'config.xml'), settings(folder, { http, tcp }));
  await writeFile(join(folder, 'users.xml'), users);
  const server = await startServer({
    argv: ['clickhouse-server', `--config-file=${join(folder, 'config.xml')}`],
    variables: { TZ: 'UTC' },
    port: http,
    folder,
    // Without a wait for the disk, its parts outlive only an orderly end.
    survives: ['SIGTERM'],
    isReady: async (url) => {
      if (!(await fetch(`${url}/ping`)).ok) throw new Error('not ready');
    },
  });
  return asked(server, { user: USER, password: PASSWORD });
}

function asked(
  { url, stop }: Pick<TestServer, 'url' | 'stop'>,
  { user, password }: { readonly user: string; readonly password: string },
): ClickhouseServer {
  return {
    url,
    user,
    password,
    stop,
    async ask(statement, asking = {}) {
      const answer = await fetch(`${url}/?${new URLSearchParams(asking).toString()}`, {
        method: 'POST',
        headers: { 'x-clickhouse-user': user, 'x-clickhouse-key': password },
        body: statement,
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return text;
    },
  };
}

let server: Promise<ClickhouseServer> | undefined;
let databases = 0;
let inUse = 0;

export interface FreshClickhouse extends ClickhouseServer {
  readonly database: string;
  /** What a config needs to reach it. */
  readonly config: {
    readonly url: string;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  };
  drop(): Promise<void>;
}

/** An empty database of its own, on a server that runs until the last of them is dropped. */
export async function freshClickhouse(): Promise<FreshClickhouse> {
  if (clickhouse.start === undefined) throw new Error(clickhouse.reason);
  inUse += 1;
  server ??= clickhouse.start();
  const used = await server;
  const { url, user, password } = used;
  const database = `t${process.pid}_${(databases += 1)}`;
  await used.ask(`CREATE DATABASE ${database}`);
  return {
    ...used,
    database,
    config: { url, user, password, database },
    async drop() {
      await used.ask(`DROP DATABASE ${database}`);
      inUse -= 1;
      if (inUse > 0) return;
      server = undefined;
      await used.stop();
    },
  };
}
