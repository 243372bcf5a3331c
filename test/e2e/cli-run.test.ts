/** `headgate run` as a process: streams, signals and exit codes as a shell sees them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from './headgate.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const MANY = 400_000;

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-run-'));
  writeFileSync(join(cwd, 'few.jsonl'), '{"id":1,"note":"one"}\n{"id":2,"note":"two"}\n{"id":3}\n');
  writeFileSync(join(cwd, 'many.jsonl'), `{"id":1,"note":"${'x'.repeat(60)}"}\n`.repeat(MANY));
  writeFileSync(
    join(cwd, 'few.yaml'),
    documentOf('few.jsonl', { type: 'jsonl', config: { path: 'out.jsonl' } }),
  );
  writeFileSync(join(cwd, 'print.yaml'), documentOf('few.jsonl', { type: 'stdout' }));
  writeFileSync(join(cwd, 'endless.yaml'), documentOf('many.jsonl', { type: 'stdout' }));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function documentOf(path: string, sink: object): string {
  return JSON.stringify({
    version: 1,
    name: 'e2e',
    pipeline: { source: { type: 'jsonl', config: { path } }, sink },
  });
}

function start(...args: string[]) {
  const child = spawn(process.execPath, [LAUNCHER, 'run', ...args], {
    cwd,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, ended: once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]> };
}

describe('streams', () => {
  it('keep JSON on stdout and everything else on stderr', async () => {
    const { code, stdout, stderr } = await headgate(['run', 'few.yaml', '--output', 'json'], {
      cwd,
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      pipeline: 'e2e',
      status: 'completed',
      totals: { rows_out: 3 },
    });
    expect(stderr).toContain('INFO headgate::engine');
  });

  it('hold no colours and no progress when nobody watches', async () => {
    const { stderr } = await headgate(['run', 'few.yaml', '--log-level', 'error'], {
      cwd,
      variables: { NO_COLOR: '' },
    });
    expect(stderr).not.toContain('\u001B');
    expect(stderr).not.toContain('\r');
    expect(stderr).toContain('3 records written');
  });

  it('let records through untouched when the sink is stdout', async () => {
    const { stdout, code } = await headgate(['run', 'print.yaml', '--quiet'], { cwd });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '{"id":1,"note":"one"}\n{"id":2,"note":"two"}\n{"id":3}\n',
    });
  });

  it('may be closed by a reader that has seen enough', async () => {
    const { child, ended } = start('endless.yaml', '--quiet');
    child.stdout.once('data', () => child.stdout.destroy());
    const stderr = await text(child.stderr);
    const [, signal] = await ended;
    expect(signal).toBeNull();
    expect(stderr).not.toContain('unexpected');
    expect(stderr).not.toContain('EPIPE');
  });
});

describe('signals', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    '%s stops the run at a page, says so, and exits with %i',
    async (signal, expected) => {
      // Nobody reads stdout yet: the run cannot come to its end.
      const { child, ended } = start('endless.yaml');
      let stderr = '';
      const asked = Promise.withResolvers<void>();
      child.stderr.setEncoding('utf8').on('data', (part: string) => {
        if (!stderr.includes('row started') && (stderr + part).includes('row started'))
          child.kill(signal);
        stderr += part;
        if (stderr.includes(`${signal}: stopping at the next page`)) asked.resolve();
      });
      await asked.promise;
      const printed = await text(child.stdout);
      expect(await ended).toEqual([expected, null]);
      expect(stderr).toContain('e2e cancelled');
      // What was written is whole records, and not all of them.
      const lines = printed.split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.length).toBeLessThan(MANY);
      expect(new Set(lines).size).toBeLessThanOrEqual(1);
    },
  );
});

describe('exit codes', () => {
  it('are 1 for a failed run and 2 for a line that cannot be understood', async () => {
    writeFileSync(join(cwd, 'gone.yaml'), documentOf('gone.jsonl', { type: 'stdout' }));
    const failed = await headgate(['run', 'gone.yaml', '--quiet'], { cwd });
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('gone.jsonl');
    expect((await headgate(['run', '--wat'], { cwd })).code).toBe(2);
  });
});
