/**
 * The commands around a run, as processes: from an empty folder to a document somebody else can
 * check.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { headgate, type Finished } from './headgate.ts';

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
