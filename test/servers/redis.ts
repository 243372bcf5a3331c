/**
 * Redis for tests. `HEADGATE_TEST_REDIS_URL` names a server to use; otherwise `redis-server` (or
 * `valkey-server`) is started from the path. Where neither is there, `redisOrReason` says so and
 * suites are skipped with that reason.
 */
import { spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { freePort, serverFolder, startServer } from './test-servers.ts';

export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

export type RedisOrReason =
  | {
      readonly start: () => Promise<RedisServer>;
      /** One of a cluster; absent where a server was named. */
      readonly startOfCluster?: () => Promise<RedisServer>;
      readonly reason?: undefined;
    }
  | { readonly reason: string };

/**
 * How to get a server, or why there is none. Throws instead where `HEADGATE_REQUIRE_SERVERS` asks
 * for it.
 */
export function redisOrReason(): RedisOrReason {
  const url = process.env['HEADGATE_TEST_REDIS_URL'];
  if (url !== undefined) return { start: async () => ({ url, stop: async () => {} }) };
  const binary = ['redis-server', 'valkey-server'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  );
  if (binary !== undefined)
    return {
      start: () => startRedis(binary),
      startOfCluster: () => startRedis(binary, { 'cluster-enabled': 'yes' }),
    };
  const reason = 'no Redis: set HEADGATE_TEST_REDIS_URL, or install redis-server';
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('redis'))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names redis, but there is ${reason}`);
  return { reason };
}

async function startRedis(
  binary: string,
  more: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  const [port, folder] = [await freePort(), await serverFolder('redis')];
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    save: '',
    appendonly: 'yes',
    // What was written outlives the process; a machine that ends is not tested.
    appendfsync: 'no',
    dir: folder,
    ...more,
  };
  const server = await startServer({
    argv: [binary, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])],
    port,
    folder,
    survives: ['SIGTERM', 'SIGKILL'],
    isReady: () => ping(port),
  });
  return { url: `redis://127.0.0.1:${port}`, stop: () => server.stop() };
}

/** While it loads its data it takes connections and refuses commands. */
async function ping(port: number): Promise<void> {
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: null, lazyConnect: true });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}
