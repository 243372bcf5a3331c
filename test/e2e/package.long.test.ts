/**
 * The package as users get it: packed, installed into an empty folder, started under a Node of the
 * user's own and under one that npm brings.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Of all that npm installs with it. */
const MOST_MB = 120;
/** Compressed. */
const MOST_CONSOLE_KB = 400;
const ROOT = resolve(import.meta.dirname, '../..');
const MINUTES = 60_000;
/** Of the system; the one that runs the tests is pinned. */
const OLD_NODE = execFileSync('sh', ['-c', 'command -v node'], {
  env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  encoding: 'utf8',
}).trim();

const folder = mkdtempSync(join(tmpdir(), 'headgate-packed-'));
const app = join(folder, 'app');
const headgate = join(app, 'node_modules/.bin/headgate');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What npm and the package see of the environment: nothing that a test runner put there. */
function environment(node: string): NodeJS.ProcessEnv {
  const { HOME, TMPDIR } = process.env;
  return { HOME, TMPDIR, PATH: `${dirname(node)}:/usr/local/bin:/usr/bin:/bin` };
}

/** What it wrote, first to the standard output. */
function shell(command: string, args: readonly string[], cwd: string, node: string): string {
  const how = { cwd, env: environment(node), encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(command, args, how);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout + stderr;
}

/** The files of the checkout, so that packing builds nothing into it. */
function copyOfCheckout(): string {
  const copy = join(folder, 'checkout');
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of files.split('\0').filter((name) => name !== '' && !name.startsWith('test/')))
    cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

beforeAll(() => {
  const tarballs = join(folder, 'tarballs');
  for (const made of [tarballs, app]) mkdirSync(made);
  shell('npm', ['pack', '--pack-destination', tarballs], copyOfCheckout(), OLD_NODE);
  const [tarball = ''] = readdirSync(tarballs);
  writeFileSync(join(app, 'package.json'), '{}');
  install(join(tarballs, tarball));
}, 10 * MINUTES);

function install(what: string): void {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  shell('npm', ['install', ...quiet, what], app, OLD_NODE);
}

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

it('holds no sources and no tests', () => {
  const names = readdirSync(join(app, 'node_modules/headgate')).sort();
  expect(names).toEqual(
    [
      'LICENSE',
      'README.md',
      'bin',
      'data',
      'dist',
      'docs',
      'examples',
      'package.json',
      'schemas',
    ].sort(),
  );
});

it('is small, because clients of vendors are left to those who need them', () => {
  const [kilobytes = ''] = shell('du', ['-sk', app], app, OLD_NODE).split('\t');
  expect(Number(kilobytes) / 1024).toBeLessThan(MOST_MB);
});

it('has a console that is small before its editor is loaded', () => {
  const assets = join(app, 'node_modules/headgate/dist/console/assets');
  const sizes = readdirSync(assets)
    .filter((name) => /\.(?:js|css)$/.test(name) && !name.startsWith('editor-'))
    .map((name) => gzipSync(readFileSync(join(assets, name))).length);
  expect(sizes.length).toBeGreaterThan(5);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_CONSOLE_KB * 1000);
});

it('takes every package that it loads from those that it names', () => {
  const dist = join(app, 'node_modules/headgate/dist');
  const programs = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const text = programs
    .filter((name) => name.endsWith('.cjs'))
    .map((name) => readFileSync(join(dist, name), 'utf8'))
    .join('\n');
  const loaded = [...text.matchAll(/(?:require|lazyLibrary)\("((?:@[\w-]+\/)?[\w-]+)[^"]*"\)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !isBuiltin(name));
  const named = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  expect(loaded).toContain('pg');
  expect([...new Set(loaded)].filter((name) => !named.has(name))).toEqual([]);
});

it('says what to install where Node is too old, or a client is missing', () => {
  const old = spawnSync(headgate, ['--version'], { cwd: app, env: environment(OLD_NODE) });
  const version = manifest.peerDependencies['node'] ?? '';
  expect([old.status, old.stderr.toString()]).toEqual([
    1,
    expect.stringContaining(`npx -p node@${version} -p headgate headgate`),
  ]);
  const sql = { type: 'sql', config: { query: 'select id from batch' } };
  writeDocument('sql.json', [sql]);
  const run = spawnSync(headgate, ['run', 'sql.json'], {
    cwd: app,
    env: environment(process.execPath),
  });
  expect([run.status, run.stderr.toString()]).toEqual([
    expect.any(Number),
    expect.stringContaining('npm install @duckdb/node-api'),
  ]);
  expect(run.status).not.toBe(0);
});

function writeDocument(name: string, transforms: readonly object[]): void {
  writeFileSync(join(app, 'in.csv'), 'id,name\n1,Ann\n2,Bo\n');
  const pipeline = {
    source: { type: 'csv', config: { path: 'in.csv' } },
    transforms,
    sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
  };
  writeFileSync(join(app, name), JSON.stringify({ version: 1, pipeline }));
}

describe.each([
  ['a Node of the user', process.execPath, undefined],
  ['a Node that npm brings', OLD_NODE, 'node'],
])('under %s', (_what, node, brought) => {
  beforeAll(() => {
    if (brought !== undefined) install(`${brought}@${manifest.peerDependencies[brought]}`);
  }, 5 * MINUTES);

  it('knows its version', () => {
    expect(shell(headgate, ['--version'], app, node)).toBe(`headgate ${manifest.version}\n`);
  });

  it(
    'shows what it does, and how to go on',
    () => {
      const args = ['demo', '--once', '--data-dir', 'demo', '--listen', '127.0.0.1:0'];
      expect(shell(headgate, args, app, node)).toContain('npx headgate explain ');
    },
    MINUTES,
  );

  it(
    'runs a document',
    () => {
      writeDocument('copy.json', [{ type: 'drop', config: { fields: ['id'] } }]);
      shell(headgate, ['run', 'copy.json'], app, node);
      expect(readFileSync(join(app, 'out.jsonl'), 'utf8')).toBe('{"name":"Ann"}\n{"name":"Bo"}\n');
    },
    MINUTES,
  );

  it(
    'serves the API and its console',
    async () => {
      const args = ['serve', '--no-auth', '--listen', '127.0.0.1:0', '--history', 'memory'];
      const server = spawn(headgate, args, { cwd: app, env: environment(node) });
      try {
        let text = '';
        let url: string | undefined;
        for await (const chunk of server.stderr) {
          text += String(chunk);
          url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
          if (url !== undefined) break;
        }
        const ready = await fetch(`${url}/readyz`);
        expect([ready.status, (await fetch(`${url}/`)).status]).toEqual([200, 200]);
        const page = await fetch(`${url}/`, { headers: { accept: 'text/html' } });
        const [script = ''] = /\/assets\/index-[^"]+\.js/.exec(await page.text()) ?? [];
        expect((await fetch(url + script)).headers.get('content-type')).toMatch(/javascript/);
      } finally {
        server.kill();
        await once(server, 'exit');
      }
    },
    MINUTES,
  );
});
