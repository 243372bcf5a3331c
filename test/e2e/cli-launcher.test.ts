/** The launcher, in a package of its own: which Node it starts, and that nobody can tell the difference. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const LAUNCHER = resolve(import.meta.dirname, '../../bin/headgate.js');

/** Makes a Node say that it is an old one, unless the launcher has started it. */
const PRETEND_OLD = `if (process.env.HEADGATE_LAUNCHED === undefined) Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '16.20.2' } });`;
const PRETEND_ALWAYS_OLD = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '16.20.2' } });`;

let root: string;
let home: string;
beforeEach(() => {
  // Nobody above this folder may have a node_modules with a Node in it.
  root = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-launcher-')));
  home = join(root, 'node_modules', 'headgate');
  mkdirSync(join(home, 'bin'), { recursive: true });
  cpSync(LAUNCHER, join(home, 'bin/headgate.js'));
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'headgate', type: 'module', dependencies: { node: '24.21.0' } }));
  writeFileSync(join(root, 'old.mjs'), PRETEND_OLD);
  writeFileSync(join(root, 'always-old.mjs'), PRETEND_ALWAYS_OLD);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

/** The `node` package as npm lays it out, hoisted beside ours. */
function installNode(...place: string[]): void {
  const target = join(root, 'node_modules', ...place);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(process.execPath, target);
}

function options(): { env: NodeJS.ProcessEnv; cwd: string } {
  return { cwd: root, env: { PATH: process.env['PATH'] } };
}

function launch(
  preload: string | undefined,
  ...args: string[]
): { status: number | null; signal: string | null; stdout: string; stderr: string } {
  const before = preload === undefined ? [] : ['--import', `./${preload}`];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...before, join(home, 'bin/headgate.js'), ...args], {
    ...options(),
    encoding: 'utf8',
  });
  return { status, signal, stdout, stderr };
}

describe('on a Node that is new enough', () => {
  it('runs the bundle of an installed package', () => {
    put('dist/main.js', 'console.log("bundle", ...process.argv.slice(2));');
    expect(launch(undefined, 'run', 'a b')).toEqual({ status: 0, signal: null, stdout: 'bundle run a b\n', stderr: '' });
  });

  it('runs the sources of a checkout, also when a bundle was built there', () => {
    const checkout = join(root, 'checkout');
    cpSync(home, checkout, { recursive: true });
    home = checkout;
    put('dist/main.js', 'console.log("bundle");');
    put('src/main.ts', 'const word: string = "sources"; console.log(word);');
    expect(launch(undefined)).toMatchObject({ status: 0, stdout: 'sources\n' });
  });
});

describe('on an older Node', () => {
  it.each([[['node', 'bin', 'node']], [[`node-${process.platform}-${process.arch}`, 'bin', 'node']], [['.bin', 'node']]])(
    'starts the one of %j',
    (place) => {
      installNode(...place);
      put('dist/main.js', 'console.log(process.env.HEADGATE_LAUNCHED, ...process.argv.slice(2)); process.exitCode = 7;');
      expect(launch('old.mjs', '--version', 'x')).toEqual({ status: 7, signal: null, stdout: 'undefined --version x\n', stderr: '' });
    },
  );

  it('says what to install when there is none', () => {
    const { status, stderr } = launch('old.mjs');
    expect(status).toBe(1);
    expect(stderr).toContain('error: Headgate needs Node 24 or newer; this is Node 16.20.2');
    expect(stderr).toContain('npm install node@24.21.0');
  });

  it('does not start the next one for ever when the one it found is old, too', () => {
    installNode('node', 'bin', 'node');
    const { status, stderr } = launch('always-old.mjs');
    expect(status).toBe(1);
    expect(stderr.match(/needs Node 24/g)).toHaveLength(1);
  });

  it('dies of the signal its child died of', () => {
    installNode('node', 'bin', 'node');
    put('dist/main.js', 'process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);');
    expect(launch('old.mjs')).toMatchObject({ status: null, signal: 'SIGKILL' });
  });

  it('passes signals on and ends as its child ends', async () => {
    installNode('node', 'bin', 'node');
    put(
      'dist/main.js',
      'process.on("SIGTERM", () => { console.log("stopping"); process.exit(3); }); setInterval(() => {}, 1000); console.log("ready");',
    );
    const child: ChildProcess = spawn(process.execPath, ['--import', './old.mjs', join(home, 'bin/headgate.js')], {
      ...options(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (part.includes('ready')) child.kill('SIGTERM');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, text }).toEqual({ code: 3, text: 'ready\nstopping\n' });
  });
});
