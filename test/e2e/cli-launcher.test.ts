/**
 * The launcher, in a package of its own: which Node it starts, and that nobody can tell the
 * difference.
 */
import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noteOfBundle, stateOfSources } from '../../bin/bundle.js';
import { eventually } from '../support/eventually.ts';

const PROGRAMS = resolve(import.meta.dirname, '../../bin');

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
  cpSync(PROGRAMS, join(home, 'bin'), { recursive: true });
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({ name: 'headgate', type: 'module', peerDependencies: { node: '24.21.0' } }),
  );
  writeFileSync(join(root, 'old.mjs'), PRETEND_OLD);
  writeFileSync(join(root, 'always-old.mjs'), PRETEND_ALWAYS_OLD);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

function setTime(path: string, seconds: number): void {
  utimesSync(join(home, path), seconds, seconds);
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
  preload: string | Readonly<Record<string, string>> | undefined,
  ...args: string[]
): { status: number | null; signal: string | null; stdout: string; stderr: string } {
  const before = typeof preload === 'string' ? ['--import', `./${preload}`] : [];
  const { cwd, env } = options();
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [...before, join(home, 'bin/headgate.js'), ...args],
    {
      cwd,
      env: typeof preload === 'object' ? { ...env, ...preload } : env,
      encoding: 'utf8',
    },
  );
  return { status, signal, stdout, stderr };
}

describe('on a Node that is new enough', () => {
  it('runs the bundle of an installed package', () => {
    put('dist/main.cjs', 'console.log("bundle", ...process.argv.slice(2));');
    expect(launch(undefined, 'run', 'a b')).toEqual({
      status: 0,
      signal: null,
      stdout: 'bundle run a b\n',
      stderr: '',
    });
  });

  describe('in a checkout', () => {
    beforeEach(() => {
      const checkout = join(root, 'checkout');
      cpSync(home, checkout, { recursive: true });
      home = checkout;
      put('src/main.ts', 'import { word } from "./word.ts"; console.log(word);');
      put('src/word.ts', 'export const word: string = "sources";');
    });

    function build(): void {
      put('dist/main.cjs', 'console.log("bundle");');
      writeFileSync(noteOfBundle(home), stateOfSources(home));
    }

    it('runs the sources when no bundle says what it was made of', () => {
      put('dist/main.cjs', 'console.log("bundle");');
      expect(launch(undefined)).toMatchObject({ status: 0, stdout: 'sources\n' });
    });

    it('runs a bundle that was made of exactly these sources', () => {
      build();
      expect(launch(undefined)).toMatchObject({ status: 0, stdout: 'bundle\n' });
    });

    it.each([
      ['changed', () => put('src/word.ts', 'export const word: string = "changed";'), 'changed'],
      ['is older than the bundle, but another', () => setTime('src/word.ts', 1_000_000), 'sources'],
      ['came', () => put('src/more.ts', ''), 'sources'],
      ['went', () => rmSync(join(home, 'src/less.ts')), 'sources'],
      [
        'of the package changed',
        () => put('package.json', '{ "type": "module", "version": "2.0.0" }'),
        'sources',
      ],
    ])('runs the sources when a file %s since', (_how, change, word) => {
      put('src/less.ts', '');
      build();
      change();
      expect(launch(undefined)).toMatchObject({ status: 0, stdout: `${word}\n` });
    });

    it('runs the bundle when only files came that are no part of it', () => {
      build();
      put('src/word.test.ts', '');
      put('src/README.md', '');
      expect(launch(undefined)).toMatchObject({ status: 0, stdout: 'bundle\n' });
    });

    it('runs the sources when it is told to', () => {
      build();
      expect(launch({ HEADGATE_SOURCES: '1' })).toMatchObject({ status: 0, stdout: 'sources\n' });
    });
  });

  it('keeps compiled code where the user keeps caches, and does without where it cannot', () => {
    put('dist/main.cjs', 'console.log("bundle");');
    expect(launch({ XDG_CACHE_HOME: join(root, 'cache') })).toMatchObject({
      status: 0,
      stdout: 'bundle\n',
      stderr: '',
    });
    expect(existsSync(join(root, 'cache', 'headgate'))).toBe(true);
    put('no-folder', '');
    expect(launch({ XDG_CACHE_HOME: join(home, 'no-folder') })).toMatchObject({
      status: 0,
      stdout: 'bundle\n',
      stderr: '',
    });
  });
});

const BUILD = '1a2b3c4d';

describe('a bundled program', () => {
  let cache: string;

  beforeEach(() => {
    cache = join(root, 'cache');
    put(
      'dist/main.cjs',
      `require('../bin/compiled.js').runCompiled(__dirname + '/program.cjs', '${BUILD}', process.argv[2]);`,
    );
    put(
      'dist/program.cjs',
      'const word = () => "ran"; exports.word = word; process.exitCode = process.argv[2] === "fail" ? 1 : 0; console.log(word());',
    );
  });

  /** What is kept of its compiled code, with the folder of Node's version left out. */
  function kept(): string[] {
    return readdirSync(cache, { recursive: true, encoding: 'utf8' })
      .map((file) => basename(file))
      .filter((file) => file.startsWith('program-'))
      .sort();
  }

  const run = (...args: string[]) => launch({ XDG_CACHE_HOME: cache }, ...args);

  function fileOf(name: string): string {
    const files = readdirSync(cache, { recursive: true, encoding: 'utf8' });
    return files.find((file) => basename(file) === name) ?? '';
  }

  it('runs with the code it compiled before, for each purpose its own', () => {
    expect([run('run'), run('run'), run('list')].map(({ stdout }) => stdout)).toEqual([
      'ran\n',
      'ran\n',
      'ran\n',
    ]);
    expect(kept()).toEqual([`program-${BUILD}-list`, `program-${BUILD}-run`]);
  });

  it('removes what builds of other days kept for the same purpose', () => {
    run('run');
    const folder = dirname(join(cache, fileOf(`program-${BUILD}-run`)));
    const others = [
      'program-00000000-run',
      'program-22222222-run',
      'program-00000000-list',
      'worker-00000000-run',
    ];
    for (const name of others) writeFileSync(join(folder, name), '');
    for (const name of others.filter((one) => one !== 'program-22222222-run'))
      utimesSync(join(folder, name), 1_000_000, 1_000_000);
    rmSync(join(folder, `program-${BUILD}-run`));
    run('run');
    expect(
      readdirSync(folder)
        .filter((name) => /-[0-9a-f]{8}-/.test(name))
        .sort(),
    ).toEqual([
      'program-00000000-list',
      `program-${BUILD}-run`,
      'program-22222222-run',
      'worker-00000000-run',
    ]);
  });

  it('keeps nothing of a run that failed, and makes no file name of what is no word', () => {
    expect(run('fail')).toMatchObject({ status: 1, stdout: 'ran\n' });
    expect(run('../../escape')).toMatchObject({ status: 0 });
    expect(kept()).toEqual([`program-${BUILD}-other`]);
  });

  it('keeps what a worker compiled for its work, which is killed in the end', async () => {
    put(
      'dist/worker.cjs',
      `require('../bin/compiled.js').runCompiled(__dirname + '/program.cjs', '${BUILD}', process.argv[2], 10);`,
    );
    put('dist/program.cjs', 'process.on("message", () => process.send("done"));');
    const worker = fork(join(home, 'dist', 'worker.cjs'), ['runs'], {
      env: { NODE_COMPILE_CACHE: cache },
    });
    const ended = once(worker, 'exit');
    // Without work it has nothing to keep.
    await pause(100);
    expect(existsSync(cache) ? kept() : []).toEqual([]);
    worker.send('work');
    await eventually(() => expect(kept()).toEqual([`program-${BUILD}-runs`]));
    worker.kill('SIGKILL');
    await ended;
  });

  it('compiles again where what was kept is no use', () => {
    run('run');
    const [file] = readdirSync(cache, { recursive: true, encoding: 'utf8' }).filter((one) =>
      one.endsWith('-run'),
    );
    writeFileSync(join(cache, file ?? ''), 'broken');
    expect(run('run')).toEqual({ status: 0, signal: null, stdout: 'ran\n', stderr: '' });
    expect(statSync(join(cache, file ?? '')).size).toBeGreaterThan('broken'.length);
  });

  it('loads what lies beside it when it asks for it, and keeps the code of that, too', () => {
    put('dist/part.cjs', 'exports.word = () => "part"; exports.from = __filename;');
    put(
      'dist/program.cjs',
      `const part = () => require("./part.cjs");
       if (process.argv[3] === "whole")
         console.log(part().word(), part() === part(), part().from === __dirname + "/part.cjs");`,
    );
    const size = () => statSync(join(cache, fileOf(`program-${BUILD}-run`))).size;
    run('run');
    const small = size();
    expect(run('run', 'whole')).toMatchObject({ stdout: 'part true true\n', stderr: '' });
    const whole = size();
    expect(whole).toBeGreaterThan(small);
    expect(run('run', 'whole')).toMatchObject({ stdout: 'part true true\n', stderr: '' });
    // Nothing new was compiled, and nothing that was kept is given up.
    expect([run('run').status, size()]).toEqual([0, whole]);
  });

  it('gives the same error to everybody who asks for a file that cannot be loaded', () => {
    put('dist/part.cjs', 'exports.half = true; throw new Error("broken");');
    put(
      'dist/program.cjs',
      `for (const time of [1, 2])
         try { console.log(require("./part.cjs")); } catch (error) { console.log(error.message); }`,
    );
    expect(run('run')).toMatchObject({ stdout: 'broken\nbroken\n' });
  });

  it('asks for modules as any file does', () => {
    put('dist/other.mjs', 'export const from = import.meta.filename;');
    put(
      'dist/program.cjs',
      'console.log(require("./other.mjs").from === __dirname + "/other.mjs");',
    );
    expect(run('run')).toMatchObject({ stdout: 'true\n', stderr: '' });
  });
});

describe('on an older Node', () => {
  it.each([
    [['node', 'bin', 'node']],
    [[`node-${process.platform}-${process.arch}`, 'bin', 'node']],
    [['.bin', 'node']],
  ])('starts the one of %j', (place) => {
    installNode(...place);
    put(
      'dist/main.cjs',
      'console.log(process.env.HEADGATE_LAUNCHED, ...process.argv.slice(2)); process.exitCode = 7;',
    );
    expect(launch('old.mjs', '--version', 'x')).toEqual({
      status: 7,
      signal: null,
      stdout: 'undefined --version x\n',
      stderr: '',
    });
  });

  it('leaves `--env-file` to the program', () => {
    installNode('node', 'bin', 'node');
    put('dist/main.cjs', 'console.log(process.argv.slice(2).join(" "), process.env.FROM);');
    writeFileSync(join(root, 'x.env'), 'FROM=file\n');
    // The first Node reads what stands on its own line; the one that it starts need not.
    const run = (...args: string[]): object => {
      const { cwd, env } = options();
      const started = {
        cwd,
        env: { ...env, NODE_OPTIONS: '--import ./old.mjs' },
        encoding: 'utf8',
      } as const;
      const program = join(home, 'bin/headgate.js');
      const { status, stdout, stderr } = spawnSync(program, args, started);
      return { status, stdout, stderr };
    };
    for (const file of ['missing', 'x.env'])
      expect(run('run', '--env-file', file)).toEqual({
        status: 0,
        stdout: `run --env-file ${file} undefined\n`,
        stderr: '',
      });
  });

  it('says what to install when there is none', () => {
    const { status, stderr } = launch('old.mjs');
    expect(status).toBe(1);
    expect(stderr).toContain('error: Headgate needs Node 24 or newer; this is Node 16.20.2');
    expect(stderr).toContain('npx -p node@24.21.0 -p headgate headgate');
  });

  it('does not start the next one for ever when the one it found is old, too', () => {
    installNode('node', 'bin', 'node');
    const { status, stderr } = launch('always-old.mjs');
    expect(status).toBe(1);
    expect(stderr.match(/needs Node 24/g)).toHaveLength(1);
  });

  it('dies of the signal its child died of', () => {
    installNode('node', 'bin', 'node');
    put('dist/main.cjs', 'process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);');
    expect(launch('old.mjs')).toMatchObject({ status: null, signal: 'SIGKILL' });
  });

  it('passes signals on and ends as its child ends', async () => {
    installNode('node', 'bin', 'node');
    put(
      'dist/main.cjs',
      'process.on("SIGTERM", () => { console.log("stopping"); process.exit(3); }); setInterval(() => {}, 1000); console.log("ready");',
    );
    const child: ChildProcess = spawn(
      process.execPath,
      ['--import', './old.mjs', join(home, 'bin/headgate.js')],
      {
        ...options(),
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (part.includes('ready')) child.kill('SIGTERM');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, text }).toEqual({ code: 3, text: 'ready\nstopping\n' });
  });
});
