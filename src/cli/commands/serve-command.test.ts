import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { runCli } from '../framework/run-cli.ts';
import type { RunningServer, ServeOptions } from '../serve-options.ts';
import { testWiring, testWorld, type TestWorld } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-serve-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

interface Served {
  readonly world: TestWorld;
  readonly code: Promise<number>;
  /** Resolves when the server was asked for. */
  readonly options: Promise<ServeOptions>;
  readonly drained: number[];
  readonly reloads: readonly string[];
}

function serve(line: string, variables: Record<string, string> = {}): Served {
  const world = testWorld({ cwd, variables });
  const asked = Promise.withResolvers<ServeOptions>();
  const drained: number[] = [];
  const reloads: string[] = [];
  const server: RunningServer = {
    url: 'http://127.0.0.1:8080',
    historyText: 'SQLite',
    reload: () => {
      reloads.push('again');
      return Promise.resolve();
    },
    drain: (graceSecs) => {
      drained.push(graceSecs);
      return Promise.resolve();
    },
    closed: new Promise(() => {}),
  };
  const wiring = {
    ...testWiring(),
    serve: (options: ServeOptions) => {
      asked.resolve(options);
      return Promise.resolve(server);
    },
  };
  return {
    world,
    code: runCli(['serve', ...line.split(' ')], wiring, world),
    options: asked.promise,
    drained,
    reloads,
  };
}

/** Starts, stops and gives the options the server was built from. */
async function optionsOf(
  line: string,
  variables: Record<string, string> = {},
): Promise<ServeOptions> {
  const served = serve(line, variables);
  const options = await served.options;
  served.world.send('SIGTERM', 0);
  expect(await served.code).toBe(0);
  return options;
}

describe('serve', () => {
  it('has the defaults of the specification and keeps its history in the data folder', async () => {
    const options = await optionsOf('--no-auth');
    expect(options).toMatchObject({
      listen: '127.0.0.1:8080',
      auth: { noAuth: true },
      history: { kind: 'sqlite', path: path.join(cwd, '.headgate/history.db') },
      corsOrigins: [],
      bodyLimitBytes: 1_048_576,
      shutdownGraceSecs: 60,
      retainTerminalRunsSecs: 604_800,
      idempotencyRetentionSecs: 86_400,
      logRetentionSecs: 604_800,
      logMaxLinesPerRun: 100_000,
      leaseTtlSecs: 30,
      probeTimeoutSecs: 10,
      callbackAllowHosts: [],
    });
    expect(options.maxQueuedRuns).toBe(8 * options.maxConcurrentRuns);
    expect([
      options.isLevelChosen,
      (await optionsOf('--no-auth --log-level warn')).isLevelChosen,
    ]).toEqual([false, true]);
    expect(existsSync(path.join(cwd, '.headgate'))).toBe(true);
  });

  it('reads its settings again at every SIGHUP until it is asked to stop', async () => {
    const served = serve('--no-auth');
    await served.options;
    await new Promise((resolve) => setImmediate(resolve));
    served.world.hangUp();
    served.world.hangUp();
    served.world.send('SIGTERM', 0);
    expect(await served.code).toBe(0);
    served.world.hangUp();
    expect(served.reloads).toEqual(['again', 'again']);
  });

  it('takes every option as a variable, also from the env file; flags win', async () => {
    writeFileSync(
      path.join(cwd, '.env'),
      'SVC_SERVE_LISTEN=127.0.0.1:1\nSVC_SERVE_READ_TOKEN=reader-token\n',
    );
    const variables = {
      SVC_SERVE_CORS_ORIGIN: 'http://a, http://b',
      SVC_SERVE_DATA_DIR: 'data',
      SVC_SERVE_LEASE_TTL_SECS: '5',
      SVC_SERVE_HISTORY: 'memory',
    };
    const options = await optionsOf('--lease-ttl-secs 7', variables);
    expect(options).toMatchObject({
      listen: '127.0.0.1:1',
      auth: { readToken: 'reader-token' },
      corsOrigins: ['http://a', 'http://b'],
      dataDir: path.join(cwd, 'data'),
      leaseTtlSecs: 7,
      history: { kind: 'memory' },
    });
    expect(existsSync(path.join(cwd, 'data'))).toBe(false);
  });

  it.each([
    ['sqlite:h.db', (folder: string) => ({ kind: 'sqlite', path: path.join(folder, 'h.db') })],
    ['sqlite:///var/h.db', () => ({ kind: 'sqlite', path: '/var/h.db' })],
    ['memory', () => ({ kind: 'memory' })],
    ['postgres://h/d', () => ({ kind: 'postgres', url: 'postgres://h/d' })],
    ['postgresql://h/d', () => ({ kind: 'postgres', url: 'postgresql://h/d' })],
  ])('understands --history %s', async (where, expected) => {
    expect((await optionsOf(`--no-auth --history ${where}`)).history).toEqual(expected(cwd));
  });

  it('says where it listens, where the history is, and what to try, without the token', async () => {
    const served = serve('--auth-token not-to-be-seen');
    await served.options;
    served.world.send('SIGINT', 0);
    expect(await served.code).toBe(0);
    const text = served.world.err();
    expect(text).toContain('listens on http://127.0.0.1:8080');
    expect(text).toContain('history: SQLite (.headgate/history.db)');
    expect(text).toContain("curl -s -H 'Authorization: Bearer …' http://127.0.0.1:8080/v1/schemas");
    expect(text).toContain(
      'outputs: files that runs write here are DELETED 7 days after their last write; --local-output-retention-days 0 keeps them',
    );
    expect(text).not.toContain('not-to-be-seen');
    expect(served.world.out()).toBe('');
  });

  it('drains within the grace at the first signal', async () => {
    const served = serve('--no-auth --shutdown-grace-secs 3');
    await served.options;
    served.world.send('SIGTERM', 0);
    expect(await served.code).toBe(0);
    expect(served.drained).toEqual([3]);
    expect(served.world.err()).toContain('SIGTERM: letting runs finish, for at most 3 s');
    expect(served.world.exits).toEqual([]);
  });

  it('tells why it cannot start', async () => {
    const world = testWorld({ cwd });
    const wiring = {
      ...testWiring(),
      serve: () => Promise.reject(new AppError('bad_option', '--listen "x" is not an address')),
    };
    expect(await runCli(['serve', '--no-auth', '--listen', 'x'], wiring, world)).toBe(2);
    expect(world.err()).toMatch(/^error: --listen "x" is not an address {2}\[bad_option\]\nhint: /);
  });
});
