import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COMMANDS } from '../commands/index.ts';
import { parts } from '../../parts.ts';
import { candidatesOf, printedCandidate } from './candidates.ts';
import { completionScript, firstWords, SHELLS } from './completions.ts';
import { flagOf } from './option.ts';
import { shownOptions } from './command.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-complete-'));
  writeFileSync(
    path.join(cwd, 'base.yaml'),
    'version: 1\nparams: {day: {required: true}}\nmatrix:\n  - {id: eu, tags: [big]}\n  - {id: us}\nprofiles: {dev: {}, prod: {}}\n',
  );
  writeFileSync(
    path.join(cwd, 'graph.yaml'),
    'pipeline: {nodes: {a: {kind: source}, out: {kind: sink}}}\n',
  );
  writeFileSync(path.join(cwd, 'broken.yaml'), 'version: [');
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** The last word is the one that is typed. */
async function offered(...words: string[]): Promise<string[]> {
  const line = { before: words.slice(0, -1), current: words.at(-1) ?? '' };
  const found = await candidatesOf({ cwd, parts: () => Promise.resolve(parts) }, COMMANDS, line);
  return found.map((one) => printedCandidate(one).split('\t')[0] ?? '');
}

describe('what may stand next', () => {
  it.each([
    [['val'], ['validate']],
    [['run', '--dry'], ['--dry-run']],
    [['run', '--output', 'nd'], ['ndjson']],
    [['run', '--output=nd'], ['ndjson']],
    [['run', '--log-level', 'w'], ['warn']],
    [['run', ''], [':file']],
    [['completions', 'po'], ['powershell']],
    [
      ['dlq', ''],
      ['inspect', 'replay', 'discard'],
    ],
    [['dlq', 'inspect', ''], [':file']],
    [['dlq', 'discard', '--bef'], ['--before']],
    [['dlq', 'inspect', '--bef'], []],
    [['schema', 'source', 'cs'], ['csv']],
    [['schema', 'mask'], ['masking']],
    [['nothing', 'known', ''], []],
  ])('after %j is %j', async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });

  it.each([
    [
      ['run', 'base.yaml', '--profile', ''],
      ['dev', 'prod'],
    ],
    [['run', 'base.yaml', '--profile=p'], ['prod']],
    [['run', 'base.yaml', '--profile', '=', 'p'], ['prod']],
    [
      ['run', 'base.yaml', '--profile', '='],
      ['dev', 'prod'],
    ],
    [['run', 'base.yaml', '--select', 'e'], ['eu']],
    [['plan', 'graph.yaml', '--row', ''], ['out']],
    [['run', 'base.yaml', '--tag', ''], ['big']],
    [['run', 'base.yaml', '--param', ''], ['day=']],
    [['history', '--config', 'base.yaml', '--row', 'u'], ['us']],
    [['run', 'broken.yaml', '--profile', ''], []],
    [['run', 'missing.yaml', '--profile', ''], []],
    [['run', '--profile', ''], []],
  ])('of a document: after %j is %j', async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });

  it('a flag that was given is not offered again, unless it may be repeated', async () => {
    const flags = await offered('run', 'base.yaml', '--limit', '3', '--tag', 'big', '--');
    expect(flags).toContain('--tag');
    expect(flags).not.toContain('--limit');
  });

  it('is every flag of every command', async () => {
    for (const command of COMMANDS) {
      const flags = shownOptions(command.options).map(([key]) => flagOf(key));
      expect(await offered(...command.name.split(' '), '--')).toEqual(
        expect.arrayContaining(flags),
      );
    }
  });
});

describe('completion scripts', () => {
  it.each(SHELLS)('for %s know the first words', (shell) => {
    const script = completionScript(shell, COMMANDS);
    for (const { name } of firstWords(COMMANDS)) expect(script).toContain(name);
  });

  it.each([
    [['headgate', 'val'], ['validate']],
    [
      ['headgate', 'run', 'base.yaml', '--profile', ''],
      ['dev', 'prod'],
    ],
    [['headgate', 'run', 'base.yaml', '--env-file', 'no-such', '--profile', 'd'], ['dev']],
    [['headgate', 'run', 'ba'], ['base.yaml']],
    [['headgate', 'run', '--dry'], ['--dry-run']],
  ])('complete %j in bash', (words, expected) => {
    const program = path.resolve(import.meta.dirname, '../../../bin/headgate.js');
    const typed = words.map((word) => `'${word}'`).join(' ');
    const script = `${completionScript('bash', COMMANDS)}
headgate() { ${program} "$@"; }
COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], {
      encoding: 'utf8',
      cwd,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual(expected);
  });
});
