import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError, ConfigError, ConnectorError, RunError } from '../../lib/errors.ts';
import { readFile } from 'node:fs/promises';
import { fileFault } from '../../lib/files/file-fault.ts';
import { cureOfAny } from '../../wire/command-codes.ts';
import { usageError } from './exit.ts';
import { Redactor } from '../../lib/redact.ts';
import { Terminal } from '../render/render.ts';
import { reportError } from './report-error.ts';
import { testWorld } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-report-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function told(
  error: unknown,
  options: { tty?: boolean; document?: string; secret?: string } = {},
): string {
  const world = testWorld({ tty: options.tty ?? false, variables: { NO_COLOR: '1' } });
  const redactor = new Redactor();
  if (options.secret !== undefined) redactor.register(options.secret);
  const terminal = new Terminal({
    stdout: world.stdout,
    stderr: world.stderr,
    variables: world.variables,
    redactor,
  });
  reportError(error, { terminal, cwd, document: options.document });
  expect(world.out()).toBe('');
  return world.err();
}

const ISSUE = {
  code: 'invalid_value',
  path: 'matrix[2].sink.config.write_mode',
  message: '"upsrt" is not one of `append`, `upsert`',
  hint: 'did you mean `upsert`?',
  line: 3,
  column: 7,
};

describe('a document that cannot be used', () => {
  it('is reported issue by issue: place, path, sentence, hint and code', () => {
    const other = { code: 'missing_key', path: 'version', message: '`version` is required' };
    expect(
      told(new ConfigError([ISSUE, other]), { document: path.join(cwd, 'headgate.yaml') }),
    ).toBe(
      'error: headgate.yaml cannot be used: 2 problems\n' +
        'headgate.yaml:3:7  matrix[2].sink.config.write_mode  "upsrt" is not one of `append`, `upsert`  (did you mean `upsert`?)  [invalid_value]\n' +
        'headgate.yaml  version  `version` is required  [missing_key]\n',
    );
  });

  it('is not blamed for what is wrong in another file', () => {
    const sample = { code: 'bad_json', path: '', message: 'is not JSON', file: 'sample.jsonl' };
    const document = path.join(cwd, 'headgate.yaml');
    expect(told(new ConfigError([sample]), { document })).toMatch(
      /^error: sample\.jsonl cannot be used: 1 problem\n/,
    );
    expect(told(new ConfigError([sample, ISSUE]), { document })).toMatch(
      /^error: headgate\.yaml cannot be used: 2 problems\n/,
    );
  });

  it('is shown with a caret to somebody who watches', () => {
    writeFileSync(path.join(cwd, 'headgate.yaml'), 'a: 1\nsink:\n\t    write_mode: upsrt\n');
    const text = told(new ConfigError([ISSUE]), {
      tty: true,
      document: path.join(cwd, 'headgate.yaml'),
    });
    expect(text.split('\n').slice(2)).toEqual([
      '    2 | sink:',
      '    3 | \t    write_mode: upsrt',
      '      | \t     ^',
      '',
    ]);
  });

  it('is reported without an excerpt when the file has gone', () => {
    expect(
      told(new ConfigError([ISSUE]), { tty: true, document: 'gone.yaml' }).split('\n'),
    ).toHaveLength(3);
  });
});

describe('another failure', () => {
  it('is reported with hint and causes, once each', () => {
    const cause = new Error('connect ECONNREFUSED', { cause: new Error('no route') });
    const error = new ConnectorError('connection', 'postgres cannot be reached', {
      hint: 'is it running?',
      cause,
    });
    expect(told(error)).toBe(
      'error: postgres cannot be reached  [connector_connection]\nhint: is it running?\ncaused by: connect ECONNREFUSED\ncaused by: no route\n',
    );
    expect(told(new AppError('x', 'cannot read: EACCES', { cause: new Error('EACCES') }))).toBe(
      'error: cannot read: EACCES  [x]\n',
    );
  });

  it('says what to do where the error itself does not, and where it happened', () => {
    const at = 'pipeline.source, line 4 of a.yaml';
    expect(told(new RunError('Source', 'connector_timeout', 'no answer', { at }))).toBe(
      `error: no answer  [connector_timeout]\nat: ${at}\nhint: ${cureOfAny('connector_timeout')}\n`,
    );
    expect(told(usageError('there is no option `--x`'))).toBe('error: there is no option `--x`\n');
  });

  it('leaves out the words of the system that were told in plain ones', async () => {
    const cause: unknown = await readFile(path.join(cwd, 'gone')).catch((error: unknown) => error);
    const error = new AppError('missing', `gone: ${fileFault(cause).says}`, {
      cause,
      hint: 'look',
    });
    expect(told(error)).toBe('error: gone: it does not exist  [missing]\nhint: look\n');
  });

  it('does not quote what a parser has read, which may be a secret', () => {
    const cause = faultOfJson('{"token": hunter22}');
    expect(cause.message).toContain('hunter');
    expect(told(new ConnectorError('auth', 'no JSON', { cause, hint: 'look' }))).toBe(
      'error: no JSON  [connector_auth]\nhint: look\n',
    );
  });

  it('never shows a secret', () => {
    expect(told(new AppError('x', 'bad password hunter22'), { secret: 'hunter22' })).toBe(
      'error: bad password ***  [x]\n',
    );
  });

  it('that nobody foresaw asks to be reported', () => {
    expect(told(new TypeError('undefined is not a function'))).toMatch(
      /^error: undefined is not a function\n +at [^]*defect of Headgate/,
    );
  });

  it('with a cause that is its own cause ends', () => {
    const error = new Error('round');
    error.cause = error;
    expect(told(error)).toContain('error: round');
  });
});

function faultOfJson(text: string): Error {
  try {
    JSON.parse(text);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('the text is JSON');
}
