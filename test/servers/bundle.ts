/**
 * The program for tests that start it as users do: the package, built of the sources as they are
 * once a test run, because the sources take four times as long to start. Other tests start the
 * sources.
 *
 * `setup` is a global setup of the test runner: it opens a local address at which test files ask
 * for the launcher, so that nothing is built for those that start no program.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stateOfSources } from '../../bin/bundle.js';

const CONSOLE = '/console';
const DOOR_VARIABLE = 'HEADGATE_TEST_BUNDLE_DOOR';
const ROOT = resolve(import.meta.dirname, '../..');

export default async function setup(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-package-'));
  let current: Built | undefined;
  let builds = 0;
  const door = createServer(({ url }, response) => {
    const state = stateOfSources(ROOT);
    // A test runner that watches files outlives a build.
    if (current?.state !== state) {
      builds += 1;
      current = built(state, join(folder, String(builds)));
    }
    (url === CONSOLE ? current.withConsole() : current.launcher).then(
      (launcher) => response.end(launcher),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  process.env[DOOR_VARIABLE] = await listen(door);
  return async () => {
    door.closeAllConnections();
    await new Promise((done) => door.close(done));
    await current?.launcher.catch(() => undefined);
    // A program that was killed a moment ago may still write beside it.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}

interface Built {
  readonly state: string;
  readonly launcher: Promise<string>;
  /** The same, when the console is there, too. */
  readonly withConsole: () => Promise<string>;
}

function built(state: string, folder: string): Built {
  const script = import('../../scripts/build.ts');
  const launcher = script.then(({ buildPackage }) => buildPackage(folder));
  let adding: Promise<string> | undefined;
  const add = async (): Promise<string> => {
    const path = await launcher;
    await (await script).buildConsole(folder);
    return path;
  };
  return { state, launcher, withConsole: () => (adding ??= add()) };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return `http://127.0.0.1:${address.port}/`;
}

/** Path of `bin/headgate.js` in that package. The console is built for those who ask for it. */
export async function launcherPath({ withConsole = false } = {}): Promise<string> {
  const door = process.env[DOOR_VARIABLE];
  if (door === undefined) throw new Error('add test/servers/bundle.ts to globalSetup');
  const response = await fetch(withConsole ? new URL(CONSOLE, door) : door);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
