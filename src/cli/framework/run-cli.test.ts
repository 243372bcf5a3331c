import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { COMMANDS } from '../commands/index.ts';
import { shownOptions } from './command.ts';
import { cliReference } from './reference.ts';
import { flagOf } from './option.ts';
import {
  type Done,
  type TestWorldOptions,
  runCommand,
  testWiring,
} from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-cli-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(line: string, options: TestWorldOptions = {}): Promise<Done> {
  return runCommand(line === '' ? [] : line.split(' '), testWiring(parts), { cwd, ...options });
}

function write(name: string, text: string): void {
  writeFileSync(path.join(cwd, name), text);
}

function read(name: string): string {
  return readFileSync(path.join(cwd, name), 'utf8');
}

const DOCUMENT = `version: 1
name: people
vars: { in: people.csv }
pipeline:
  source: { type: csv, config: { path: '\${vars.in}' } }
  transforms:
    - { type: cast, config: { fields: { age: int } } }
  sink: { type: jsonl, config: { path: people.jsonl } }
`;
const PEOPLE = 'name,age\nAda,36\nGrace,85\nAlan,41\n';

const MATRIX = `version: 1
name: two
pipeline:
  source: { type: csv, config: { path: people.csv } }
matrix:
  - { id: a, sink: { type: jsonl, config: { path: a.jsonl } } }
  - { id: b, sink: { type: jsonl, config: { path: b.jsonl } }, source: { config: { path: gone.csv } } }
`;

describe('help', () => {
  it('without arguments goes to stderr and is a usage error', async () => {
    const { code, out, err } = await cli('');
    expect(code).toBe(2);
    expect(out).toBe('');
    for (const command of COMMANDS) expect(err).toContain(`  ${command.name}`);
  });

  it('is given for everything and for each command', async () => {
    expect(await cli('--help')).toMatchObject({ code: 0, err: '' });
    for (const command of COMMANDS) {
      const { code, out } = await cli(`${command.name} --help`);
      expect(code).toBe(0);
      for (const [key] of shownOptions(command.options)) expect(out).toContain(flagOf(key));
    }
  });

  it('leaves out what this build does not have', async () => {
    const { out } = await cli('run --help');
    expect(out).not.toContain('--tui');
    expect(out).toContain('--limit N');
  });

  it('comes as a reference page, too', () => {
    const page = cliReference(COMMANDS);
    for (const command of COMMANDS) expect(page).toContain(`## ${command.name}\n`);
    expect(page).toContain(
      '| `--listen ADDRESS` | `HEADGATE_SERVE_LISTEN`, `SVC_SERVE_LISTEN` | 127.0.0.1:8080 |',
    );
    expect(page).not.toContain('--tui');
  });

  it.each(COMMANDS.map((command) => command.name))(
    'describes %s and its options in sentences',
    (name) => {
      const command = COMMANDS.find((one) => one.name === name);
      for (const text of [
        command?.summary,
        ...shownOptions(command?.options ?? {}).map(([, option]) => option.description),
      ]) {
        expect(text).toMatch(/^[A-Z].*[.]$/s);
      }
    },
  );
});

it('prints its version', async () => {
  for (const line of ['--version', '-V', 'version'])
    expect(await cli(line)).toEqual({ code: 0, out: 'headgate 1.2.3\n', err: '' });
});

describe('usage errors', () => {
  it.each([
    ['rnu', 'error: there is no command `rnu`\nhint: did you mean `run`?\n'],
    ['run --limit 0', 'error: --limit must be a whole number of at least 1, got "0"\n'],
    [
      'run --clock yesterday',
      'error: --clock must be a time such as 2026-01-31T08:00:00Z, or a date, got "yesterday"\n',
    ],
    [
      'run --clock 2026-02-30',
      'error: --clock must be a time such as 2026-01-31T08:00:00Z, or a date, got "2026-02-30"\n',
    ],
    ['run --param a', 'error: --param has no value\nhint: write `--param NAME=VALUE`\n'],
    ['run --param =1', 'error: --param has no name\nhint: write `--param NAME=VALUE`\n'],
    ['run --param a=1 --param a=1', 'error: --param is given twice for a\n'],
    ['validate --profile=', 'error: --profile must not be empty\n'],
    [
      'serve --no-auth --lease-ttl-secs 0',
      'error: --lease-ttl-secs must be a whole number of at least 1, got "0"\n',
    ],
    [
      'serve --no-auth --cluster',
      'error: --cluster needs a history in PostgreSQL, which all servers share\nhint: give every server the same `--history postgres://…`\n',
    ],
    [
      'serve --no-auth --shutdown-handover',
      'error: --shutdown-handover belongs to --cluster\nhint: give both, or neither\n',
    ],
    [
      'serve --no-auth --cluster --cluster-poll-secs 0',
      'error: --cluster-poll-secs must be a whole number of at least 1, got "0"\n',
    ],
    [
      'serve --no-auth --cluster --cluster-max-attempts 0',
      'error: --cluster-max-attempts must be a whole number of at least 1, got "0"\n',
    ],
    [
      'serve --no-auth --history mysql://x',
      'error: --history must be `memory`, `sqlite:PATH` or `postgres://…`\n',
    ],
  ])('%s exits with 2', async (line, err) => {
    expect(await cli(line)).toEqual({ code: 2, out: '', err });
  });

  it('name the variable a value came from', async () => {
    const { code, err } = await cli('serve --no-auth', {
      variables: { SVC_SERVE_MAX_CONCURRENT_RUNS: '0' },
    });
    expect(code).toBe(2);
    expect(err).toContain(
      'SVC_SERVE_MAX_CONCURRENT_RUNS must be a whole number from 1 to 1024, got "0"',
    );
  });
});

describe('the document', () => {
  it('is found in the folder, with a warning when there are several', async () => {
    write('headgate.yaml', DOCUMENT);
    write('headgate.json', '{}');
    const { code, out, err } = await cli('validate');
    expect({ code, err }).toEqual({
      code: 0,
      err: 'warning: headgate.yaml is used; headgate.json beside it is not\n',
    });
    expect(out).toContain('valid  people: 1 row');
  });

  it('is missed with a hint', async () => {
    const { code, err } = await cli('run');
    expect(code).toBe(1);
    expect(err).toContain('hint: name one, or start with `headgate init`');
  });

  it('sees the variables of .env, and those already set win', async () => {
    write('headgate.yaml', DOCUMENT.replace('${vars.in}', '${env:FILE}'));
    write('people.csv', PEOPLE);
    write('.env', 'FILE=people.csv\n');
    expect((await cli('preview --limit 1')).out).toBe('{"name":"Ada","age":36}\n');
    write('other.csv', 'name,age\nEve,7\n');
    expect((await cli('preview', { variables: { FILE: 'other.csv' } })).out).toBe(
      '{"name":"Eve","age":7}\n',
    );
    expect((await cli('preview --no-env-file')).err).toContain('FILE');
  });

  it.each(['plan', 'explain', 'doctor', 'verify', 'masking', 'history', 'test'])(
    'that cannot be read is told on stdout by `%s --json`, once',
    async (command) => {
      const { code, out, err } = await cli(`${command} gone.yaml --json`);
      expect(code).toBe(1);
      expect(JSON.parse(out)).toMatchObject({
        status: 'failed',
        error: {
          code: expect.any(String) as string,
          message: expect.stringContaining('gone.yaml') as string,
        },
      });
      expect(err).toContain('gone.yaml');
    },
  );

  it('that cannot be used gives all problems, on stdout too when JSON was asked for', async () => {
    write(
      'bad.yaml',
      DOCUMENT.replace('type: csv', 'type: cvs').replace(
        'fields: { age: int }',
        'fields: { age: intt }',
      ),
    );
    const { code, out, err } = await cli('validate bad.yaml --json');
    expect(code).toBe(1);
    expect(err.split('\n')).toHaveLength(4);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      issues: [
        { code: 'unknown_type', line: 5 },
        { code: 'invalid_value', line: 7 },
      ],
    });
  });
});

describe('run', () => {
  it.each(['json', 'ndjson'])('says as %s that a document cannot be used', async (format) => {
    write('bad.yaml', DOCUMENT.replace('type: csv', 'type: cvs'));
    const { code, out } = await cli(`run bad.yaml --output ${format}`);
    expect([code, JSON.parse(out)]).toMatchObject([
      1,
      { status: 'failed', error: {}, issues: [{ code: 'unknown_type', line: 5 }] },
    ]);
    expect(JSON.parse((await cli(`run none.yaml --output ${format}`)).out)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('none.yaml') as string },
    });
  });

  it('moves records and tells it on stderr, for people', async () => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
    const { code, out, err } = await cli('run --log-level error');
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toContain('people completed in 0 ms: 3 records written');
    expect(err).toMatch(/row-0 +csv +jsonl +completed +3 +0 +0 +3/);
    expect(read('people.jsonl')).toBe(
      '{"name":"Ada","age":36}\n{"name":"Grace","age":85}\n{"name":"Alan","age":41}\n',
    );
  });

  it('logs to stderr, less when quiet', async () => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
    expect((await cli('run')).err).toContain('INFO headgate::engine: pipeline run starting');
    expect(await cli('run --quiet')).toEqual({ code: 0, out: '', err: '' });
  });

  it('prints one JSON document with the balance of every row', async () => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
    const { code, out, err } = await cli('run --output json --log-level error');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      pipeline: 'people',
      status: 'completed',
      totals: { rows: 1, rows_out: 3, dlq_count: 0, ok: 1, failed: 0 },
      rows: [
        {
          row_id: 'row-0',
          status: 'ok',
          rows_in: 3,
          rows_out: 3,
          balance: { read: 3, written: 3, withheld: 0 },
        },
      ],
    });
  });

  it('fails when one row fails, and says which and why', async () => {
    write('two.yaml', MATRIX);
    write('people.csv', PEOPLE);
    const { code, out } = await cli('run two.yaml --output ndjson --quiet');
    expect(code).toBe(1);
    const rows = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toMatchObject([
      { row_id: 'a', status: 'ok' },
      { row_id: 'b', status: 'error', error: expect.stringContaining('gone.csv') as string },
    ]);
    const text = await cli('run two.yaml --log-level error');
    expect(text.err).toMatch(/error: row b: .*gone\.csv/);
  });

  it('takes rows by flag or variable', async () => {
    write('two.yaml', MATRIX);
    write('people.csv', PEOPLE);
    expect((await cli('run two.yaml --select a --quiet')).code).toBe(0);
    expect((await cli('run two.yaml --quiet', { variables: { SVC_SKIP: 'b' } })).code).toBe(0);
    expect((await cli('run two.yaml --quiet', { variables: { HEADGATE_SKIP: 'b' } })).code).toBe(0);
    const unknown = await cli('run two.yaml --select c');
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('`--select c` matches no row');
  });

  it('writes nothing in a dry run', async () => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
    const { code, err } = await cli('run --dry-run --log-level error');
    expect(code).toBe(0);
    expect(err).toContain('3 records would be written');
    expect(existsSync(path.join(cwd, 'people.jsonl'))).toBe(false);
  });

  it('writes at most the limit', async () => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
    expect((await cli('run --limit 2 --log-level error')).err).toContain(
      'limited to 2 records for each row',
    );
    expect(read('people.jsonl').trim().split('\n')).toHaveLength(2);
  });

  it('renders the clock it is given', async () => {
    write('headgate.yaml', DOCUMENT.replace('people.jsonl', "'out-${now.date}.jsonl'"));
    write('people.csv', PEOPLE);
    await cli('run --quiet --clock 2025-12-24');
    expect(existsSync(path.join(cwd, 'out-2025-12-24.jsonl'))).toBe(true);
  });

  it('refuses --state-path for a document with a state store of its own', async () => {
    write('headgate.yaml', `${DOCUMENT}  state: { type: file, config: { path: state } }\n`);
    const { code, err } = await cli('run --state-path elsewhere');
    expect(code).toBe(2);
    expect(err).toContain('--state-path is for documents without a state store');
  });

  it('gives a document without a state store one at --state-path', async () => {
    write('headgate.yaml', DOCUMENT);
    const { out } = await cli('explain --json');
    expect(JSON.parse(out)).toMatchObject({ rows: [{ incremental: false }] });
    write('people.csv', PEOPLE);
    expect((await cli('run --quiet --state-path bookmarks')).code).toBe(0);
  });

  it('takes a document from environment variables', async () => {
    write('people.csv', PEOPLE);
    const move = {
      SVC_SOURCE: 'csv',
      SVC_SOURCE_CSV_PATH: 'people.csv',
      SVC_SINK: 'jsonl',
      SVC_SINK_JSONL_PATH: 'people.jsonl',
    };
    const variables = {
      ...move,
      SVC_TRANSFORM_1: 'cast',
      SVC_TRANSFORM_1_FIELDS_JSON: '{"age":"int"}',
    };
    expect(await cli('run --from-env --quiet', { variables })).toEqual({
      code: 0,
      out: '',
      err: '',
    });
    expect(read('people.jsonl')).toContain('{"name":"Ada","age":36}');
    expect(await cli('run x.yaml --from-env')).toMatchObject({ code: 2 });
    const wrong = await cli('run --from-env', {
      variables: { ...move, SVC_SINK_JSONL_PATHS: 'x' },
    });
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringContaining('pipeline.sink.config.paths  unknown key `paths`') as string,
    });
    const missing = await cli('run --from-env', { variables: { SVC_SOURCE: 'csv' } });
    expect(missing.err).toContain('`SVC_SINK` is not set');
  });

  it('shows progress to somebody who watches, and removes it', async () => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
    const { err } = await cli('run --log-level error', { tty: true, variables: { NO_COLOR: '1' } });
    expect(err).toContain('\r\u001B[2Krow-0  ·  3 read  ·  3 written');
    expect(err).toContain('\r\u001B[2Kpeople completed');
  });
});

describe('commands that only look', () => {
  beforeEach(() => {
    write('headgate.yaml', DOCUMENT);
    write('people.csv', PEOPLE);
  });

  it('preview prints records after transforms and writes nothing', async () => {
    expect(await cli('preview --limit 2')).toEqual({
      code: 0,
      out: '{"name":"Ada","age":36}\n{"name":"Grace","age":85}\n',
      err: '',
    });
    expect(existsSync(path.join(cwd, 'people.jsonl'))).toBe(false);
  });

  it('explain says in words where records come from and go, and what is promised', async () => {
    const { out } = await cli('explain');
    expect(out).toContain('Reads from csv');
    expect(out).toContain('Each record goes through cast.');
    expect(out).toContain('there is no dead-letter queue');
    expect(out).toContain('at-least-once');
    expect(out).toMatch(/transform\s+`cast` reads `age`/);
  });

  it('plan shows the decisions of one row as an object', async () => {
    expect(JSON.parse((await cli('plan --json')).out)).toMatchObject({
      row: 'row-0',
      source: { type: 'csv' },
      write_mode: 'append',
      transforms: ['cast'],
      delivery_guarantee: 'at-least-once',
      lane: 'columns',
    });
    expect((await cli('plan --row nope')).err).toContain('there is no row `nope`');
  });

  it('validate says what would run', async () => {
    write('two.yaml', MATRIX);
    expect(JSON.parse((await cli('validate two.yaml --json --skip b')).out)).toMatchObject({
      valid: true,
      row_count: 2,
      selection_active: true,
      rows: [
        { id: 'a', decision: 'run' },
        { id: 'b', decision: 'skip' },
      ],
    });
  });

  it('doctor exits with the number of failed probes', async () => {
    expect((await cli('doctor')).code).toBe(0);
    rmSync(path.join(cwd, 'people.csv'));
    const failed = await cli('doctor --json');
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.out)).toMatchObject({
      config: 'headgate.yaml',
      summary: { failed: 1 },
    });
  });

  it('doctor --offline counts errors, not warnings', async () => {
    write('lint.yaml', DOCUMENT.replace('vars: { in', 'vars: { unused: 1, in'));
    const doubtful = await cli('doctor lint.yaml --offline');
    expect(doubtful.code).toBe(0);
    expect(doubtful.err).toContain('nothing uses the variable `unused`');
    write(
      'dangling.yaml',
      DOCUMENT.replace("{ path: '${vars.in}' }", "{ path: '${vars.in}', auth: { ref: login } }"),
    );
    const dangling = await cli('doctor dangling.yaml --offline --json');
    expect(dangling.code).toBe(1);
    expect(JSON.parse(dangling.out)).toMatchObject({
      errors: 1,
      findings: [{ code: 'dangling-auth-ref', path: 'pipeline.source.config.auth.ref' }],
    });
  });
});

describe('init', () => {
  it('writes a document that runs as it is, and does not replace it', async () => {
    expect((await cli('init')).code).toBe(0);
    expect((await cli('run --quiet')).code).toBe(0);
    expect(read('people.jsonl')).toContain('{"id":1,"name":"Ada","home":"London","age":36}');
    const again = await cli('init');
    expect(again.code).toBe(1);
    expect(again.err).toContain('headgate.yaml exists and is left alone');
    expect((await cli('init --force')).code).toBe(0);
  });

  it('writes a document that is already formatted', async () => {
    await cli('init');
    expect((await cli('fmt --check')).code).toBe(0);
  });

  it('starts from any parts of the build', async () => {
    for (const source of parts.sources.types()) {
      expect((await cli(`init it --source ${source} --sink postgres -o ${source}.yaml`)).code).toBe(
        0,
      );
      expect(read(`${source}.yaml`)).toContain(`type: ${source}\n`);
      expect((await cli(`fmt --check ${source}.yaml`)).code).toBe(0);
    }
    expect((await cli('init --source cvs')).err).toContain('did you mean `csv`?');
  });
});

describe('list and schema', () => {
  it('name every part', async () => {
    const listed = JSON.parse((await cli('list --json')).out) as Record<string, unknown[]>;
    expect(listed['sources']).toHaveLength(parts.sources.all.length);
    expect(listed['state_stores']).toEqual(parts.states.types());
    expect(listed['quality_checks']).toContainEqual({
      name: 'unique',
      description: expect.any(String) as string,
    });
  });

  it('give a schema for everything that is listed', async () => {
    const names = (await cli('schema --list')).out.trim().split('\n');
    expect(names.length).toBeGreaterThan(20);
    for (const name of names)
      expect(JSON.parse((await cli(`schema ${name}`)).out)).toHaveProperty('$schema');
    expect((await cli('schema sink cvs')).err).toContain('did you mean `csv`?');
  });
});
