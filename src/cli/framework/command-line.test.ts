import { describe, expect, it } from 'vitest';
import { COMMANDS as REAL } from '../commands/index.ts';
import { defineCommand } from './command.ts';
import { parseLine, type ParsedLine } from './command-line.ts';
import { integerOption, listOption, switchOption } from './option.ts';

const run = defineCommand({
  name: 'run',
  summary: 'Run.',
  description: 'Runs.',
  arguments: [{ name: 'config', description: '' }],
  options: {
    limit: integerOption({ short: 'n', value: 'N', description: '' }),
    only: listOption({ value: 'GLOB', description: '' }),
    noSecrets: switchOption({ description: '' }),
  },
  examples: [],
  run: () => Promise.resolve(0),
});
const fmt = defineCommand({
  name: 'fmt',
  summary: 'Format.',
  description: 'Formats.',
  arguments: [{ name: 'files', required: true, variadic: true, description: '' }],
  options: {},
  examples: [],
  run: () => Promise.resolve(0),
});
const inspect = defineCommand({
  name: 'dlq inspect',
  summary: 'Look.',
  description: 'Looks.',
  arguments: [{ name: 'location', description: '' }],
  options: { limit: integerOption({ value: 'N', description: '' }) },
  examples: [],
  run: () => Promise.resolve(0),
});
const discard = defineCommand({
  ...inspect,
  name: 'dlq discard',
  options: {},
  run: () => Promise.resolve(0),
});
const COMMANDS = [run, fmt, inspect, discard];

function parsed(...argv: string[]): Extract<ParsedLine, { kind: 'command' }> {
  const line = parseLine(argv, COMMANDS);
  if (line.kind !== 'command') throw new Error(`expected a command, got ${line.kind}`);
  return line;
}

describe('a command line', () => {
  it('gives the command, its arguments and the texts of its flags', () => {
    const line = parsed('run', 'a.yaml', '--limit=5', '--only', 'x', '--only', 'y');
    expect(line.command.name).toBe('run');
    expect(line.positionals).toEqual(['a.yaml']);
    expect(line.flags).toEqual(
      new Map([
        ['limit', ['5']],
        ['only', ['x', 'y']],
      ]),
    );
  });

  it('finds the commands of a group by both words', () => {
    const line = parsed('dlq', 'inspect', 'dead.jsonl', '--limit', '5');
    expect(line.command).toBe(inspect);
    expect(line.positionals).toEqual(['dead.jsonl']);
    expect(line.flags.get('limit')).toEqual(['5']);
    expect(parseLine(['dlq', 'discard', '--help'], COMMANDS)).toEqual({
      kind: 'help',
      command: discard,
    });
    expect(parseLine(['help', 'dlq', 'inspect'], COMMANDS)).toEqual({
      kind: 'help',
      command: inspect,
    });
  });

  it.each([[['dlq']], [['dlq', 'explode']], [['help', 'dlq']]])(
    'says what a group can do, for %j',
    (argv) => {
      expect(() => parseLine(argv, COMMANDS)).toThrow(
        expect.objectContaining({
          hint: 'write one of `headgate dlq inspect`, `headgate dlq discard`',
        }),
      );
    },
  );

  it('takes short flags', () => {
    expect(parsed('run', '-n', '5').flags.get('limit')).toEqual(['5']);
  });

  it('takes the options that all commands share before and after the name', () => {
    expect(parsed('--log-level', 'debug', 'run').flags.get('logLevel')).toEqual(['debug']);
    expect(parsed('run', '--log-level', 'debug').flags.get('logLevel')).toEqual(['debug']);
  });

  it('reads a flag that starts with no- as a flag of its own', () => {
    expect(parsed('run', '--no-secrets').flags).toEqual(new Map([['noSecrets', ['true']]]));
    expect(parsed('run', '--no-env-file', '--env-file', 'x').flags).toEqual(
      new Map([
        ['envFile', ['x']],
        ['noEnvFile', ['true']],
      ]),
    );
  });

  it('takes everything after -- as an argument', () => {
    expect(parsed('fmt', '--', '--odd.yaml', 'b.yaml').positionals).toEqual([
      '--odd.yaml',
      'b.yaml',
    ]);
  });

  it('asks for help in any position', () => {
    expect(parseLine(['--help'], COMMANDS)).toEqual({ kind: 'help', command: undefined });
    expect(parseLine(['fmt', '-h'], COMMANDS)).toEqual({ kind: 'help', command: fmt });
    expect(parseLine(['help', 'run'], COMMANDS)).toEqual({ kind: 'help', command: run });
    expect(parseLine([], COMMANDS)).toEqual({ kind: 'nothing' });
  });

  it.each([
    [['rnu'], 'there is no command `rnu`', 'did you mean `run`?'],
    [['help', 'rnu'], 'there is no command `rnu`', 'did you mean `run`?'],
    [['run', '--limt', '5'], '`headgate run` has no option `--limt`', 'did you mean `--limit`?'],
    [['--wat', 'run'], '`headgate run` has no option `--wat`', 'see `headgate run --help`'],
    [['run', '--limit'], '`--limit` needs a value', undefined],
    [['fmt'], '`headgate fmt` needs `files`', 'see `headgate fmt --help`'],
    [
      ['run', 'a', 'b'],
      '`headgate run` was given more arguments than it takes',
      'see `headgate run --help`',
    ],
  ])('explains %j', (argv, message, hint) => {
    expect(() => parseLine(argv, COMMANDS)).toThrow(
      expect.objectContaining({ code: 'usage', message, ...(hint === undefined ? {} : { hint }) }),
    );
  });
});

describe('options that exclude each other', () => {
  it('are refused together, in any order, and each is fine alone', () => {
    const plan = REAL.filter(({ name }) => name === 'plan');
    const of = (line: string) => () => parseLine(line.split(' '), plan);
    expect(of('plan --live --diff a.yaml')).toThrow(
      '`--live` cannot be used together with `--diff`',
    );
    expect(of('plan --diff a.yaml --sample b.jsonl')).toThrow('cannot be used together');
    expect(of('plan --live')).not.toThrow();
  });

  it('are options of the same command', () => {
    for (const { options } of REAL)
      for (const { conflicts = [] } of Object.values(options))
        expect(Object.keys(options)).toEqual(expect.arrayContaining([...conflicts]));
  });
});
