import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../commands/index.ts';
import { shownOptions } from './command.ts';
import { completionScript, SHELLS } from './completions.ts';
import { flagOf } from './option.ts';

describe('completion scripts', () => {
  it.each(SHELLS)('for %s offer every command and every flag', (shell) => {
    const script = completionScript(shell, COMMANDS);
    for (const command of COMMANDS) {
      for (const word of command.name.split(' ')) expect(script).toContain(word);
      for (const [key] of shownOptions(command.options))
        expect(script).toContain(shell === 'fish' ? `-l ${flagOf(key).slice(2)}` : flagOf(key));
    }
  });

  it.each([
    [['headgate', 'val'], 'validate'],
    [['headgate', 'run', '--dry'], '--dry-run'],
    [['headgate', 'run', '--output', 'nd'], 'ndjson'],
    [['headgate', 'completions', 'po'], 'powershell'],
    [['headgate', 'run', '--log-level', 'w'], 'warn'],
    [['headgate', 'dlq', 'ins'], 'inspect'],
    [['headgate', 'dlq', 'discard', '--bef'], '--before'],
  ])('complete %j in bash', (words, expected) => {
    const script = `${completionScript('bash', COMMANDS)}
COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], {
      encoding: 'utf8',
      cwd: import.meta.dirname,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual([expected]);
  });
});
