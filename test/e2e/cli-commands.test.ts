/**
 * The commands around a run, as processes: from an empty folder to a document somebody else can
 * check.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { launcherPath } from '../servers/bundle.ts';
import { headgate, type Finished } from './headgate.ts';

const LAUNCHER = await launcherPath();

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const run = (...args: string[]): Promise<Finished> => headgate(args, { cwd });

it('leads from an empty folder to a first result', async () => {
  expect((await run('run')).stderr).toContain('start with `headgate init`');
  expect((await run('init')).code).toBe(0);
  expect((await run('doctor')).code).toBe(0);
  expect((await run('run', '--quiet')).code).toBe(0);
  expect(readdirSync(cwd).sort()).toEqual(['headgate.yaml', 'people.csv', 'people.jsonl']);
  expect(readFileSync(join(cwd, 'people.jsonl'), 'utf8').split('\n')).toHaveLength(5);
});

it('tells the version, whatever the folder holds', async () => {
  expect(await run('--version')).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^headgate \d+\.\d+\.\d+\n$/) as string,
    stderr: '',
  });
});

it('tells of a disk that takes no output, in one line and by its exit code', () => {
  const shell = `"${process.execPath}" "${LAUNCHER}" list > /dev/full`;
  const { status, stderr } = spawnSync('sh', ['-c', shell], { cwd, encoding: 'utf8' });
  expect(stderr).toBe('error: what is printed cannot be written: no space is left on the device\n');
  expect(status).toBe(1);
});

it('tells of a working folder that is gone', () => {
  const shell = `mkdir gone && cd gone && rmdir ../gone && "${process.execPath}" "${LAUNCHER}" list`;
  const { status, stderr } = spawnSync('sh', ['-c', shell], { cwd, encoding: 'utf8' });
  expect(stderr).toBe(
    'error: the working folder cannot be used: it does not exist\nhint: change to another folder\n',
  );
  expect(status).toBe(1);
});

it('tells of a folder that cannot be made without calling it a defect', async () => {
  writeFileSync(join(cwd, 'taken'), '');
  const { code, stderr } = await run('serve', '--no-auth', '--data-dir', 'taken');
  expect(stderr).toBe(
    `error: ${join(cwd, 'taken')}: something of that name is there already  [file_unusable]\n` +
      'hint: use another name, or move away what is there\n',
  );
  expect(code).toBe(1);
});

it('repeats no address that stands in the place of a document', async () => {
  const { code, stderr } = await run('run', 'postgres://me:hunter2@127.0.0.1/shop');
  expect(stderr).toContain('a document is a file');
  expect(stderr).not.toContain('hunter2');
  expect(code).toBe(2);
});

describe('a document with problems', () => {
  it('is reported with file, line and column of each', async () => {
    const text =
      'version: 1\npipeline:\n  source: { type: csv, config: { path: people.csv } }\n  sink:\n    type: jsonl\n    config: { path: out.jsonl, compresion: gzip }\n';
    writeFileSync(join(cwd, 'bad.yaml'), text);
    const { code, stderr } = await run('validate', 'bad.yaml');
    expect(code).toBe(1);
    expect(stderr).toContain(
      'bad.yaml:6:32  pipeline.sink.config.compresion  unknown key `compresion`  (did you mean `compression`?)  [unknown_key]',
    );
  });

  it('that leaks a secret into an error is reported without it', async () => {
    writeFileSync(
      join(cwd, 'secret.yaml'),
      'version: 1\npipeline:\n  source: { type: csv, config: { path: "${env:WHERE}" } }\n  sink: { type: jsonl, config: { path: out.jsonl } }\n',
    );
    const { code, stdout, stderr } = await headgate(
      ['run', 'secret.yaml', '--output', 'json', '--log-level', 'trace'],
      {
        cwd,
        variables: { WHERE: 'canary-4711' },
      },
    );
    expect(code).toBe(1);
    expect(stdout + stderr).not.toContain('canary-4711');
    expect(stdout).toContain('***');
  });
});

describe('fmt', () => {
  it('rewrites a file once and checks without writing', async () => {
    const messy =
      'pipeline:\n    sink: {type: jsonl, config: {path: o}}\n    source: {type: csv, config: {path: i}} # input\nversion: 1\n';
    const file = join(cwd, 'messy.yaml');
    writeFileSync(file, messy);
    expect(await run('fmt', '--check', 'messy.yaml')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'not formatted: messy.yaml\n',
    });
    expect(readFileSync(file, 'utf8')).toBe(messy);
    const printed = await run('fmt', '--stdout', 'messy.yaml');
    expect((await run('fmt', 'messy.yaml')).stderr).toBe('formatted messy.yaml\n');
    expect(readFileSync(file, 'utf8')).toBe(printed.stdout);
    expect(await run('fmt', '--check', 'messy.yaml')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(printed.stdout).toContain('# input');
  });

  it('finds nothing to change in the documents that come with the program', async () => {
    const folder = join(import.meta.dirname, '../../examples');
    const documents = readdirSync(folder).filter((name) => /\.(ya?ml|json)$/.test(name));
    expect(await run('fmt', '--check', ...documents.map((name) => join(folder, name)))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });
});
