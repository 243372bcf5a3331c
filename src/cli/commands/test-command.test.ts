import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCli } from '../framework/run-cli.ts';
import {
  type Done,
  type TestWorldOptions,
  runCommand,
  testWiring,
  testWorld,
} from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-test-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(line: string, options: TestWorldOptions = {}): Promise<Done> {
  return runCommand(line.split(' '), testWiring(parts), { cwd, ...options });
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
  writeFileSync(path.join(cwd, name), text);
}

const DOCUMENT = `version: 1
name: people
pipeline:
  source: { type: postgres, config: { connection_url: '\${secret:NOT_SET}', query: SELECT 1 } }
  transforms:
    - { type: cast, config: { fields: { age: int } } }
  masking:
    rules: [{ match: { fields: [mail] }, action: { type: redact }, applies_to: [http] }]
  quality:
    record: [{ type: compare, field: age, op: gte, value: 18, on_failure: quarantine }]
  dlq: { sink: { type: jsonl, config: { path: dead.jsonl } }, max_failures_per_page: 1 }
  state: { type: file, config: { path: state } }
  sink: { type: jsonl, config: { path: 'out/people.jsonl', append: true } }
`;

/** A spec of one case on the document above. */
function spec(input: string, expectation: string, more = ''): string {
  return `version: 1\ntests:\n  - name: one\n    config: people.yaml\n    input: ${input}\n    expect: ${expectation}\n${more}`;
}

async function failures(text: string): Promise<string[]> {
  write('people.yaml', DOCUMENT);
  write('people.test.yaml', text);
  const { out, err } = await cli('test --json');
  const told = JSON.parse(out) as { tests?: { failures: string[] }[] };
  if (told.tests === undefined) throw new Error(err);
  return told.tests.flatMap((test) => test.failures);
}

const TWO = '[{ age: "36", mail: a@b.cd }, { age: "7", mail: e@f.gh }]';

describe('a case on a graph', () => {
  const graph = `${DOCUMENT.replace(/ {2}transforms:\n.*\n/, '')}  nodes:
    s: { kind: source }
    x: { kind: transform, transforms: [{ type: cast, config: { fields: { age: int } } }] }
    t: { kind: tee }
    y: { kind: transform, transforms: [{ type: drop, config: { fields: [note] } }] }
    w: { kind: sink }
    v: { kind: sink, config: { path: v.jsonl } }
  edges: [{ from: s, to: x }, { from: x, to: t }, { from: t, to: y }, { from: y, to: w }, { from: t, to: v }]
`;
  const given = '[{ age: "36", mail: a, note: n }, { age: "7" }]';

  it('goes to the sink node that it names, through the transforms on the way and what the node checks', async () => {
    write('people.yaml', graph);
    const rows = {
      w: '{ records: [{ age: 36, mail: "***" }], dlq_count: 1 }',
      v: '{ records: [{ age: 36, mail: "***", note: n }], dlq_count: 1 }',
    };
    for (const [row, expectation] of Object.entries(rows)) {
      write('people.test.yaml', spec(given, expectation, `    row: ${row}\n`));
      expect(await cli('test')).toMatchObject({ code: 0, err: '' });
    }
  });

  it('has to name one when there are several', async () => {
    write('people.yaml', graph);
    write('people.test.yaml', spec(given, '{ dlq_count: 1 }'));
    expect((await cli('test')).err).toContain(
      'the document has 2 sink nodes: say which  (`row` can be: w, v)',
    );
  });
});

describe('a case on a document', () => {
  it('goes through its transforms, masking and checks, and touches nothing outside', async () => {
    expect(
      await failures(
        spec(TWO, '{ records: [{ age: 36, mail: "***" }], dlq: [{ age: 7, mail: "***" }] }'),
      ),
    ).toEqual([]);
    for (const name of ['out', 'state', 'dead.jsonl'])
      expect(existsSync(path.join(cwd, name))).toBe(false);
  });

  it('counts where records went', async () => {
    expect(await failures(spec(TWO, '{ records_written: 2, dlq_count: 1 }'))).toEqual([
      'records_written: expected 2, got 1',
    ]);
    expect(await failures(spec(TWO, '{ records_written: 1, dlq_count: 0 }'))).toEqual([
      'dlq_count: expected 0, got 1',
    ]);
  });

  it('fails when the run fails, unless that is expected', async () => {
    const broken = '[{ age: old }]';
    expect(await failures(spec(broken, '{ error: "`age`" }'))).toEqual([]);
    expect(await failures(spec(broken, '{ error: nothing of it }'))).toEqual([
      expect.stringContaining('error: expected a message with "nothing of it"'),
    ]);
    expect(await failures(spec(broken, '{ records_written: 0 }'))).toEqual([
      expect.stringContaining('the run failed: transform `cast`'),
    ]);
    expect(await failures(spec(TWO, '{ error: oops }'))).toEqual([
      'error: expected a failure with "oops", got none',
    ]);
  });

  it('is cut into pages: budgets of a page count for each', async () => {
    const young = '[{ age: 1 }, { age: 2 }]';
    expect(await failures(spec(young, '{ error: max_failures_per_page }'))).toEqual([]);
    expect(await failures(spec(young, '{ dlq_count: 2 }', '    page_size: 1\n'))).toEqual([]);
  });

  it('names a row where there are several', async () => {
    write(
      'rows.yaml',
      `${DOCUMENT.replace('name: people', 'name: rows')}matrix:\n  - { id: a }\n  - { id: b, transforms: [{ type: set, config: { values: { b: true } } }], sink: { config: { path: b.jsonl } } }\n`,
    );
    const rows = (row: string): string =>
      spec('[{ age: 20 }]', '{ records: [{ age: 20, b: true }] }', row).replace(
        'people.yaml',
        'rows.yaml',
      );
    await expect(failures(rows(''))).rejects.toThrow(
      'the document has 2 rows: say which  (`row` can be: a, b)',
    );
    await expect(failures(rows('    row: c\n'))).rejects.toThrow('there is no row `c`');
    expect(await failures(rows('    row: b\n'))).toEqual([]);
  });

  it('takes its records from a file beside it', async () => {
    write('data/in.jsonl', '{"age":"50"}\n\n{"age":"51"}\n');
    write('data/in.yaml', '- { age: 50 }\n- { age: 51 }\n');
    for (const name of ['data/in.jsonl', 'data/in.yaml'])
      expect(await failures(spec(name, '{ records: [{ age: 50 }, { age: 51 }] }'))).toEqual([]);
    write('data/bad.jsonl', '{"age":1}\n{"age":\n');
    await expect(failures(spec('data/bad.jsonl', '{ records: [] }'))).rejects.toThrow(
      /people\.test\.yaml:5:5 {2}tests\[0\]\.input {2}line 2 of `data\/bad\.jsonl` is not JSON/,
    );
    await expect(failures(spec('data/in.csv', '{ records: [] }'))).rejects.toThrow(
      '`data/in.csv` is not a file of records',
    );
  });
});

describe('stages written out', () => {
  const inline = (clock: string): string => `version: 1
tests:
  - name: stages
    pipeline:
      transforms: [{ type: set, config: { values: { day: '\${now.date}' } } }]
      masking: { rules: [{ match: { fields: [m] }, action: { type: redact }, applies_to: [elsewhere] }] }
      contract: { version: '1', on_breach: quarantine, fields: [{ name: n, type: integer }] }
${clock}    input: [{ m: 1, n: 1 }, { m: 2, n: x }]
    expect: { records: [{ m: '***', n: 1, day: '2026-01-02' }], dlq_count: 1 }
`;

  it('apply every masking rule, and read the clock of the case or of the command', async () => {
    write('a.test.yaml', inline('    clock: 2026-01-02\n'));
    expect((await cli('test')).code).toBe(0);
    write('a.test.yaml', inline(''));
    expect((await cli('test')).code).toBe(1);
    expect((await cli('test --clock 2026-01-02')).code).toBe(0);
  });

  it('are judged like those of a document, at their place in the spec file', async () => {
    write('a.test.yaml', inline('').replace('type: set', 'type: sett'));
    const { code, err } = await cli('test');
    expect(code).toBe(1);
    expect(err).toMatch(
      /a\.test\.yaml:5:\d+ {2}tests\[0\]\.pipeline\.transforms\[0\]\.type {2}there is no transform called `sett`/,
    );
  });
});

describe('a spec file', () => {
  it.each([
    [
      'nothing expected',
      spec('[]', '{ unordered: true }'),
      'nothing is expected, so the case could not fail',
    ],
    [
      'an unknown key, deep down',
      spec('[]', '{ records: [], mach: subset }'),
      'tests[0].expect.mach  unknown key `mach`  (did you mean `match`?)',
    ],
    [
      'a blank name',
      spec('[]', '{ records: [] }').replace('name: one', 'name: " "'),
      'tests[0].name  must not be blank',
    ],
    [
      'nothing under test',
      spec('[]', '{ records: [] }').replace('config: people.yaml', 'row: a'),
      'nothing is under test',
    ],
    [
      'both',
      spec('[]', '{ records: [] }', '    pipeline: {}\n'),
      '`config` and `pipeline` exclude each other',
    ],
    [
      'a moment that is none',
      spec('[]', '{ records: [] }', '    clock: yesterday\n'),
      'tests[0].clock  must be a time',
    ],
    ['no tests', 'version: 1\ntests: []\n', 'tests  must not be empty'],
    ['another version', 'version: 2\ntests: []\n', 'version  2 is not one of `1`'],
  ])('with %s is refused', async (_what, text, sentence) => {
    await expect(failures(text)).rejects.toThrow(sentence);
  });

  it('has no two cases of one name', async () => {
    const twice = spec(
      '[]',
      '{ records: [] }',
      spec('[]', '{ records: [] }').split('\n').slice(2).join('\n'),
    );
    await expect(failures(twice)).rejects.toThrow('tests[1].name  the case `one` is listed twice');
  });
});

describe('the command', () => {
  const case_ = (name: string, out: number): string =>
    `  - { name: ${name}, pipeline: {}, input: [{ a: { amount: 1 } }], expect: { records: [{ a: { amount: ${out} } }] } }\n`;

  beforeEach(() => {
    write('one.test.yaml', `version: 1\ntests:\n${case_('right', 1)}${case_('wrong', 2)}`);
    write('below/two.test.yml', `version: 1\ntests:\n${case_('also wrong', 3)}`);
    write('node_modules/x.test.yaml', 'broken');
  });

  it('exits with the number of failed cases, and names paths, files and values', async () => {
    const { code, out } = await cli('test');
    expect(code).toBe(2);
    expect(out).toBe(
      'below/two.test.yml\n  FAIL  also wrong\n          records[0].a.amount: expected 3, got 1\n' +
        'one.test.yaml\n  pass  right\n  FAIL  wrong\n          records[0].a.amount: expected 2, got 1\n3 cases: 1 passed, 2 failed\n',
    );
  });

  it('takes files, folders, patterns and a filter', async () => {
    expect((await cli('test one.test.yaml')).out).toContain('2 cases');
    expect((await cli('test below')).out).toContain('1 case:');
    expect((await cli('test *.yaml below/*.yml one.test.yaml')).out).toContain('3 cases');
    expect(await cli('test --filter right')).toMatchObject({ code: 0 });
    expect(await cli('test --filter nope')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no case has `nope` in its name') as string,
    });
    expect(await cli('test none*.yaml')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no spec file `none*.yaml`') as string,
    });
  });

  it('ends by the signal that asked for it', async () => {
    const world = testWorld({ cwd });
    const wiring = testWiring(parts);
    const stopping = {
      ...wiring,
      parts: () => {
        // Comes while the cases are made ready.
        world.send('SIGINT', 0);
        return wiring.parts([], cwd);
      },
    };
    expect(await runCli(['test', 'one.test.yaml'], stopping, world)).toBe(130);
    expect(world.out()).toBe('');
  });

  it('prints JSON', async () => {
    expect(JSON.parse((await cli('test one.test.yaml --json')).out)).toEqual({
      total: 2,
      passed: 1,
      failed: 1,
      tests: [
        { name: 'right', spec: 'one.test.yaml', status: 'pass', failures: [] },
        {
          name: 'wrong',
          spec: 'one.test.yaml',
          status: 'fail',
          failures: ['records[0].a.amount: expected 2, got 1'],
        },
      ],
    });
  });

  it('fills in secrets only when it is told to', async () => {
    write('people.yaml', DOCUMENT);
    write('s.test.yaml', spec('[{ age: 20 }]', '{ records_written: 1 }'));
    expect((await cli('test s.test.yaml')).code).toBe(0);
    expect((await cli('test s.test.yaml --resolve-secrets')).err).toContain('`NOT_SET`');
    expect(
      (
        await cli('test s.test.yaml --resolve-secrets', {
          variables: { NOT_SET: 'postgres://u@h/d' },
        })
      ).code,
    ).toBe(0);
  });
});
