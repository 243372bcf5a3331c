/**
 * The package as users get it: packed, installed into an empty folder, started under the Node that
 * comes with it and under one of the user's own.
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
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

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
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  shell('npm', ['install', ...quiet, join(tarballs, tarball)], app, OLD_NODE);
}, 10 * MINUTES);

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

describe.each([
  ['the Node that comes with it', OLD_NODE],
  ['a Node of the user', process.execPath],
])('under %s', (_what, node) => {
  it('knows its version', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(shell(headgate, ['--version'], app, node)).toBe(`headgate ${version}\n`);
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
      writeFileSync(join(app, 'in.csv'), 'id,name\n1,Ann\n2,Bo\n');
      const document = {
        version: 1,
        pipeline: {
          source: { type: 'csv', config: { path: 'in.csv' } },
          transforms: [
            { type: 'sql', config: { query: 'select name from batch order by id desc' } },
          ],
          sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
        },
      };
      writeFileSync(join(app, 'copy.json'), JSON.stringify(document));
      shell(headgate, ['run', 'copy.json'], app, node);
      expect(readFileSync(join(app, 'out.jsonl'), 'utf8')).toBe('{"name":"Bo"}\n{"name":"Ann"}\n');
    },
    MINUTES,
  );

  it(
    'serves the API and its page',
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
      } finally {
        server.kill();
        await once(server, 'exit');
      }
    },
    MINUTES,
  );
});
