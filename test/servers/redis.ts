/**
 * Redis for tests. `HEADGATE_TEST_REDIS_URL` names a server to use; otherwise `redis-server` (or
 * `valkey-server`) is started from the path. Where neither is there, `redisOrReason` says so and
 * suites are skipped with that reason.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

export type RedisOrReason =
  | { readonly start: () => Promise<RedisServer>; readonly reason?: undefined }
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
  if (binary !== undefined) return { start: () => startRedis(binary) };
  const reason = 'no Redis: set HEADGATE_TEST_REDIS_URL, or install redis-server';
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('redis'))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names redis, but there is ${reason}`);
  return { reason };
}

async function startRedis(binary: string): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-redis-'));
  const port = await freePort();
  const child = spawn(
    binary,
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      folder,
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await untilReady(child);
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(child: ChildProcess): Promise<void> {
  await new Promise<void>((done, fail) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      if (/ready to accept connections/i.test(chunk.toString())) done();
    });
    child.once('exit', (code) => fail(new Error(`the Redis of the tests ended with ${code}`)));
    child.once('error', fail);
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
