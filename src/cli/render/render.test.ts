import { describe, expect, it } from 'vitest';
import { Redactor } from '../../lib/redact.ts';
import { count, seconds } from '../../lib/text/count.ts';
import { byteSize, definitionList, table, Terminal, wrap } from './render.ts';
import { testWorld, type TestWorld, type TestWorldOptions } from '../../../test/support/cli.ts';

function terminalOn(options: TestWorldOptions = {}): {
  terminal: Terminal;
  world: TestWorld;
  redactor: Redactor;
} {
  const world = testWorld(options);
  const redactor = new Redactor();
  return {
    world,
    redactor,
    terminal: new Terminal({
      stdout: world.stdout,
      stderr: world.stderr,
      variables: world.variables,
      redactor,
    }),
  };
}

describe('a terminal', () => {
  it('keeps data on stdout and words for people on stderr', () => {
    const { terminal, world } = terminalOn();
    terminal.json({ a: 1 });
    terminal.note('hello');
    expect(world.out()).toBe('{\n  "a": 1\n}\n');
    expect(world.err()).toBe('hello\n');
  });

  it('writes integers of any size digit by digit', () => {
    const { terminal, world } = terminalOn();
    terminal.jsonLine({ bookmark: 9007199254740993n });
    expect(world.out()).toBe('{"bookmark":9007199254740993}\n');
  });

  it('hides secrets everywhere but in records', () => {
    const { terminal, world, redactor } = terminalOn();
    redactor.register('hunter22');
    terminal.note('token hunter22');
    terminal.print('token hunter22');
    terminal.json({ token: 'hunter22' });
    terminal.data('{"word":"hunter22"}\n');
    expect(world.err()).toBe('token ***\n');
    expect(world.out()).toBe('token ***\n{\n  "token": "***"\n}\n{"word":"hunter22"}\n');
  });

  it('colours only what a person watches, and only when that is welcome', () => {
    expect(terminalOn().terminal.paint('red', 'x')).toBe('x');
    expect(terminalOn({ tty: true }).terminal.paint('red', 'x')).toBe('\u001B[31mx\u001B[39m');
    expect(terminalOn({ tty: true, variables: { NO_COLOR: '1' } }).terminal.paint('red', 'x')).toBe(
      'x',
    );
    expect(terminalOn({ tty: true, variables: { NO_COLOR: '' } }).terminal.paint('red', 'x')).toBe(
      '\u001B[31mx\u001B[39m',
    );
    expect(terminalOn({ tty: true, variables: { TERM: 'dumb' } }).terminal.paint('red', 'x')).toBe(
      'x',
    );
  });

  it('shows progress on one line, clears it for other lines, and gives a pipe none', () => {
    const watched = terminalOn({ tty: true });
    watched.terminal.progress('10 read');
    watched.terminal.note('hello');
    watched.terminal.clearProgress();
    expect(watched.world.err()).toBe('\r\u001B[2K10 read\r\u001B[2Khello\n');
    const piped = terminalOn();
    piped.terminal.progress('10 read');
    piped.terminal.clearProgress();
    expect(piped.world.err()).toBe('');
  });

  it('cuts progress to the width of the window', () => {
    const { terminal, world } = terminalOn({ tty: true });
    terminal.progress('x'.repeat(300));
    expect(world.err()).toBe(`\r\u001B[2K${'x'.repeat(119)}`);
  });

  it('prints log lines with time and level in front', () => {
    const { terminal, world } = terminalOn();
    terminal.log({
      ts: '2026-01-31T08:00:00.000Z',
      level: 'WARN',
      line: 'WARN headgate::engine: slow row=a',
    });
    expect(world.err()).toBe('2026-01-31T08:00:00.000Z WARN headgate::engine: slow row=a\n');
  });
});

describe('layout', () => {
  it('aligns a table, numbers to the right', () => {
    expect(
      table(
        ['row', 'read', 'sink'],
        [
          ['a', '1,000', 'x'],
          ['long-name', '5', 'y'],
        ],
        [1],
      ),
    ).toEqual(['row         read  sink', 'a          1,000  x', 'long-name      5  y']);
  });

  it('wraps at words and keeps a word that is too long whole', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('incomprehensibilities x', 5)).toEqual(['incomprehensibilities', 'x']);
  });

  it('puts descriptions beside names, or below names that are too long', () => {
    expect(
      definitionList(
        [
          ['-a', 'first'],
          ['--a-very-long-option-name VALUE-NAME', 'second'],
        ],
        60,
      ),
    ).toEqual([
      `  -a${' '.repeat(30)}first`,
      '  --a-very-long-option-name VALUE-NAME',
      `${' '.repeat(34)}second`,
    ]);
  });

  it('says sizes, times and counts the way people read them', () => {
    expect([byteSize(0), byteSize(1023), byteSize(1536), byteSize(5 * 1024 ** 3)]).toEqual([
      '0 B',
      '1023 B',
      '1.5 KiB',
      '5.0 GiB',
    ]);
    expect([seconds(12), seconds(1234), seconds(61_000)]).toEqual(['12 ms', '1.2 s', '1 min 1 s']);
    expect([count(1, 'row'), count(1200, 'row')]).toEqual(['1 row', '1,200 rows']);
  });
});
