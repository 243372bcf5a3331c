import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCli } from '../framework/run-cli.ts';
import { testWiring, testWorld, type TestWorld } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-dev-'));
  write('in.csv', 'id,name\n1,ada\n2,bo\n');
  write('d.yaml', document('upper'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function write(name: string, content: string): void {
  writeFileSync(path.join(cwd, name), content);
}

const document = (mode: string): string => `version: 1
name: d
pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms:
    - { type: value_case, config: { fields: [name], mode: ${mode} } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

/** Its clock sleeps for a moment, so that files are looked at again and again. */
function world(): TestWorld {
  const made = testWorld({ cwd });
  const clock = { ...made.clock, sleep: () => pause(5) };
  return { ...made, clock };
}

describe('dev', () => {
  it('shows the records after each stage, once', async () => {
    const here = world();
    expect(await runCli(['dev', 'd.yaml', '--once'], testWiring(parts), here)).toBe(0);
    expect(here.out()).toBe(
      'row-0: source csv\n    {"id":"1","name":"ada"}\n    {"id":"2","name":"bo"}\n' +
        '1. transform value_case\n    {"id":"1","name":"ADA"}\n    {"id":"2","name":"BO"}\n' +
        'sink jsonl\n    gets 2 records\n',
    );
  });

  it('fails once for a document that cannot be used, and for a run that would end', async () => {
    write('d.yaml', document('loud'));
    const wrong = world();
    expect(await runCli(['dev', 'd.yaml', '--once'], testWiring(parts), wrong)).toBe(1);
    expect(wrong.err()).toContain('invalid_value');
    write(
      'd.yaml',
      document('upper').replace(
        'value_case, config: { fields: [name], mode: upper }',
        'cast, config: { fields: { name: int } }',
      ),
    );
    const ends = world();
    expect(await runCli(['dev', 'd.yaml', '--once'], testWiring(parts), ends)).toBe(1);
    expect(ends.out()).toContain('the run would end here');
  });

  it('uses records of a file in place of the source', async () => {
    write('sample.jsonl', '{"name":"eve"}\n');
    const here = world();
    const words = ['dev', 'd.yaml', '--once', '--sample', 'sample.jsonl'];
    expect(await runCli(words, testWiring(parts), here)).toBe(0);
    expect(here.out()).toContain('{"name":"EVE"}');
    expect(here.out()).not.toContain('ADA');
  });

  it('prints what is different after every save, goes on after a mistake, and ends at Ctrl-C', async () => {
    const here = world();
    const ended = runCli(['dev', 'd.yaml'], testWiring(parts), here);
    const waits = (times: number): Promise<void> =>
      expect.poll(() => here.err().split('waiting for d.yaml').length - 1).toBe(times);
    await waits(1);
    const first = here.out();
    write('d.yaml', document('title'));
    await waits(2);
    expect(here.out().slice(first.length)).toBe(
      '1. transform value_case\n  - {"id":"1","name":"ADA"}\n  - {"id":"2","name":"BO"}\n' +
        '  + {"id":"1","name":"Ada"}\n  + {"id":"2","name":"Bo"}\n',
    );
    write('d.yaml', document('loud'));
    await waits(3);
    expect(here.err()).toContain('[invalid_value]');
    write('d.yaml', document('title'));
    await waits(4);
    expect(here.err()).toContain('no record is different');
    write('in.csv', 'id,name\n1,ada\n2,bob\n');
    await waits(5);
    expect(here.out()).toContain('  + {"id":"2","name":"Bob"}');
    here.send('SIGINT', 0);
    expect(await ended).toBe(130);
  });
});
