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

const DOOR_VARIABLE = 'HEADGATE_TEST_BUNDLE_DOOR';
const ROOT = resolve(import.meta.dirname, '../..');

export default async function setup(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-package-'));
  let current: { readonly state: string; readonly launcher: Promise<string> } | undefined;
  let builds = 0;
  const door = createServer((_request, response) => {
    const state = stateOfSources(ROOT);
    // A test runner that watches files outlives a build.
    if (current?.state !== state) {
      builds += 1;
      current = { state, launcher: build(join(folder, String(builds))) };
    }
    current.launcher.then(
      (launcher) => response.end(launcher),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  process.env[DOOR_VARIABLE] = await listen(door);
  return async () => {
    door.closeAllConnections();
    await new Promise((done) => door.close(done));
    await current?.launcher.catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
}

async function build(folder: string): Promise<string> {
  const { buildPackage } = await import('../../scripts/build.ts');
  return buildPackage(folder);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return `http://127.0.0.1:${address.port}/`;
}

/** Path of `bin/headgate.js` in that package. */
export async function launcherPath(): Promise<string> {
  const door = process.env[DOOR_VARIABLE];
  if (door === undefined) throw new Error('add test/servers/bundle.ts to globalSetup');
  const response = await fetch(door);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
