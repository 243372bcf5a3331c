/**
 * What a document says is what runs: merging, presets, layers, tokens, rows that wait for each
 * other, and selection.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesOf, makeFolder, type Folder } from './folder.ts';

let folder: Folder;
beforeAll(() => {
  folder = makeFolder('grammar');
});
afterAll(() => folder.remove());

interface RowReport {
  readonly row_id: string;
  readonly parent_key?: string;
  readonly status: string;
  readonly error?: string;
  readonly rows_out: number;
}

async function rows(
  name: string,
  ...args: string[]
): Promise<{ code: number | null; rows: RowReport[]; stderr: string }> {
  const { code, stdout, stderr } = await folder.run([
    'run',
    name,
    '--output',
    'ndjson',
    '--log-level',
    'warn',
    ...args,
  ]);
  return { code, rows: linesOf(stdout) as RowReport[], stderr };
}

describe('rows', () => {
  it('merge mappings, replace lists and scalars, and layer transforms', async () => {
    folder.write('layers/in.jsonl', '{"id":1}\n');
    folder.write('layers/other.jsonl', '{"id":2}\n');
    folder.write(
      'layers.yaml',
      `
version: 1
name: layers
vars: {out: layers}
pipeline:
  sources:
    default: {type: jsonl, config: {path: layers/in.jsonl}, transforms: [{type: set, config: {values: {source: yes}}}]}
    alone: {type: jsonl, config: {path: layers/other.jsonl}, inherit_transforms: false, transforms: [{type: set, config: {values: {alone: true}}}]}
  sink: {type: jsonl, config: {path: x, append: true}}
  transforms: [{type: set, config: {values: {pipeline: 1}}}]
matrix:
  - id: all
    sink: {config: {path: "\${vars.out}/all.jsonl"}}
    transforms: [{type: set, config: {values: {row: 1}}}]
  - id: own
    sink: {config: {path: "\${vars.out}/own.jsonl"}}
    inherit_transforms: false
    transforms: [{type: set, config: {values: {row: 1}}}]
  - id: template
    source: {ref: alone}
    sink: {config: {path: "\${vars.out}/template.jsonl"}}
    transforms: [{type: set, config: {values: {row: 1}}}]
`,
    );
    expect(await rows('layers.yaml')).toMatchObject({ code: 0 });
    expect(folder.text('layers/all.jsonl')).toBe('{"id":1,"pipeline":1,"source":"yes","row":1}\n');
    expect(folder.text('layers/own.jsonl')).toBe('{"id":1,"row":1}\n');
    expect(folder.text('layers/template.jsonl')).toBe('{"id":2,"alone":true,"row":1}\n');
  });

  it('run once per parent record, and not at all without one', async () => {
    folder.records('parents.jsonl', [
      { key: 'a', path: 'one' },
      { key: 'b', path: 'two' },
    ]);
    folder.records('parent-one.jsonl', [{ n: 1 }]);
    folder.records('parent-two.jsonl', [{ n: 2 }, { n: 3 }]);
    folder.records('none.jsonl', []);
    const child = (parent: string): object => ({
      parent,
      parent_key: 'key',
      source: { config: { path: `parent-\${${parent}.path}.jsonl` } },
      sink: { config: { path: `child-${parent}-\${${parent}.key}.jsonl` } },
    });
    folder.document(
      'parents.json',
      { source: { type: 'jsonl' }, sink: { type: 'jsonl' } },
      {
        matrix: [
          {
            id: 'some',
            source: { config: { path: 'parents.jsonl' } },
            sink: { config: { path: 'parents.out.jsonl' } },
          },
          {
            id: 'empty',
            source: { config: { path: 'none.jsonl' } },
            sink: { config: { path: 'none.out.jsonl' } },
          },
          { id: 'child', ...child('some') },
          { id: 'orphan', ...child('empty') },
        ],
      },
    );
    const done = await rows('parents.json');
    expect(done.code).toBe(0);
    const children = done.rows
      .filter(({ row_id }) => row_id === 'child')
      .map(({ parent_key, rows_out }) => [parent_key, rows_out]);
    expect(new Map(children as [string, number][])).toEqual(
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
    );
    expect(folder.lines('child-some-b.jsonl')).toEqual([{ n: 2 }, { n: 3 }]);
  });

  it('of parents with one key twice are refused before any child starts', async () => {
    folder.records('twins.jsonl', [{ key: 'a' }, { key: 'a' }]);
    folder.document(
      'twins.json',
      {
        source: { type: 'jsonl' },
        sink: { type: 'jsonl' },
        state: { type: 'file', config: { path: 'twins.state' } },
      },
      {
        matrix: [
          {
            id: 'p',
            source: { config: { path: 'twins.jsonl' } },
            sink: { config: { path: 'twins.out.jsonl' } },
          },
          {
            id: 'c',
            parent: 'p',
            parent_key: 'key',
            source: { config: { path: 'twins.jsonl' } },
            sink: { config: { path: 'twin-${p.key}.jsonl' } },
          },
        ],
      },
    );
    const done = await rows('twins.json');
    expect(done.code).toBe(1);
    expect(done.rows.find(({ row_id }) => row_id === 'c')?.error).toContain('a');
    expect(existsSync(join(folder.path, 'twin-a.jsonl'))).toBe(false);
  });

  it('wait for others, are skipped when those fail, and only the failure counts', async () => {
    folder.records('ok.jsonl', [{ n: 1 }]);
    const row = (id: string, path: string, depends_on: readonly string[] = []): object => ({
      id,
      depends_on,
      source: { config: { path } },
      sink: { config: { path: `chain-${id}.jsonl` } },
    });
    folder.document(
      'chain.json',
      { source: { type: 'jsonl' }, sink: { type: 'jsonl' } },
      {
        matrix: [
          row('last', 'chain-first.jsonl', ['first']),
          row('first', 'ok.jsonl'),
          row('bad', 'gone.jsonl'),
          row('after', 'ok.jsonl', ['bad']),
          row('later', 'ok.jsonl', ['after']),
        ],
        execution: { on_error: 'continue', max_concurrent: 2 },
      },
    );
    const done = await rows('chain.json');
    expect(done.code).toBe(1);
    expect(Object.fromEntries(done.rows.map(({ row_id, status }) => [row_id, status]))).toEqual({
      last: 'ok',
      first: 'ok',
      bad: 'error',
      after: 'skipped',
      later: 'skipped',
    });
    expect(folder.lines('chain-last.jsonl')).toEqual([{ n: 1 }]);
    expect(existsSync(join(folder.path, 'chain-after.jsonl'))).toBe(false);
    const { stdout } = await folder.run(['run', 'chain.json', '--output', 'json', '--quiet']);
    expect(JSON.parse(stdout)).toMatchObject({
      totals: { rows: 5, ok: 2, failed: 1, skipped: 2 },
      error: expect.stringMatching(/^1 invocation/),
    });
  });
});

describe('tokens', () => {
  it('render once a run, escape to a literal, and never change the shape of the tree', async () => {
    folder.records('in.jsonl', [{ n: 1 }]);
    folder.write('text.txt', 'from a file\n\n');
    folder.write(
      'tokens.yaml',
      `
version: 1
name: tokens
vars: {a: "<\${vars.b}>", b: "\${env:VALUE}"}
pipeline:
  source: {type: jsonl, config: {path: in.jsonl}}
  transforms:
    - type: set
      config:
        values:
          var: "\${vars.a}"
          file: "\${file:text.txt}"
          literal: "$\${env:VALUE} $\${now.date}"
          time: "\${now.strftime.%H:%M} \${now.iso} \${now.unix}"
          ref: "\${sources.default.path}"
  sink: {type: jsonl, config: {path: "tokens-\${now.year}-\${now.strftime.%m}.jsonl"}}
`,
    );
    const { code, stderr } = await folder.run(
      ['run', 'tokens.yaml', '--quiet', '--clock', '2026-01-31T08:09:10Z'],
      {
        VALUE: 'x: [1, {y: 2}]\n- "z',
      },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(folder.lines('tokens-2026-01.jsonl')).toEqual([
      {
        n: 1,
        var: '<x: [1, {y: 2}]\n- "z>',
        file: 'from a file',
        literal: '${env:VALUE} ${now.date}',
        time: '08:09 2026-01-31T08:09:10+00:00 1769846950',
        ref: 'in.jsonl',
      },
    ]);
  });

  it('never let a secret out again', async () => {
    const secret = 'canary-7f3a9c';
    folder.document('secret.json', {
      source: { type: 'jsonl', config: { path: 'no-${env:PASSWORD}.jsonl' } },
      sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
    });
    for (const args of [
      ['run', '--output', 'json'],
      ['run', '--log-level', 'trace'],
      ['plan'],
      ['plan', '--json'],
      ['explain'],
      ['explain', '--json'],
      ['validate', '--json'],
      ['doctor'],
      ['doctor', '--json'],
      ['preview'],
    ]) {
      const [command = '', ...flags] = args;
      const { stdout, stderr } = await folder.run([command, 'secret.json', ...flags], {
        PASSWORD: secret,
      });
      expect(`${args.join(' ')}: ${stdout}${stderr}`).not.toContain(secret);
    }
  });
});

describe('selection', () => {
  beforeAll(() => {
    folder.records('select.jsonl', [{ n: 1 }]);
    const row = (id: string, more: object = {}): object => ({
      id,
      sink: { config: { path: `select-${id}.jsonl` } },
      ...more,
    });
    folder.document(
      'select.json',
      { source: { type: 'jsonl', config: { path: 'select.jsonl' } }, sink: { type: 'jsonl' } },
      {
        matrix: [
          row('must', { source: { status: 'mandatory' } }),
          row('plain', { tags: ['x'] }),
          row('draft', { source: { status: 'draft' }, tags: ['x'] }),
          row('needs-draft', { depends_on: ['draft'], source: { status: 'available' } }),
        ],
      },
    );
  });

  it.each([
    [[], ['must', 'plain']],
    [['--select', 'draft'], ['draft']],
    [['--only', 'p*'], ['plain']],
    [['--tag', 'x'], ['plain']],
    [
      ['--tag', 'x', '--status', 'draft'],
      ['plain', 'draft'],
    ],
    [
      ['--skip', 'm*'],
      ['must', 'plain'],
    ],
    [['--skip', 'must'], ['plain']],
    [
      ['--select', 'needs-draft', '--include-parents', 'all'],
      ['draft', 'needs-draft'],
    ],
  ])('%j runs %j', async (flags, expected) => {
    const { stdout, code } = await folder.run(['validate', 'select.json', '--json', ...flags]);
    const { rows: decided } = JSON.parse(stdout) as {
      rows: { id: string; decision: string | null }[];
    };
    const running = decided.filter(({ decision }) => decision === 'run').map(({ id }) => id);
    expect({ code, running }).toEqual({ code: 0, running: expected });
  });

  it.each([
    [{ FAUCET_INCLUDE_PARENTS: 'all' }, [], 0],
    [{ SVC_INCLUDE_PARENTS: 'all' }, [], 0],
    [{ FAUCET_INCLUDE_PARENTS: 'off', SVC_INCLUDE_PARENTS: 'all' }, [], 1],
    [{ FAUCET_INCLUDE_PARENTS: 'all' }, ['--include-parents', 'off'], 1],
  ])(
    'what becomes of parents may come from variables: %j with %j ends with %d',
    async (variables, flags, expected) => {
      const { code } = await folder.run(
        ['validate', 'select.json', '--select', 'needs-draft', ...flags],
        variables,
      );
      expect(code).toBe(expected);
    },
  );

  it.each([
    [['--select', 'nope'], 'matches no row'],
    [['--status', 'old'], 'old'],
    [['--tag', 'y'], 'y'],
    [['--include-parents', 'some'], 'some'],
    [['--select', 'needs-draft'], 'needs-draft → draft'],
    [['--select', 'plain', '--skip', 'plain'], 'plain'],
  ])('%j is refused before anything runs', async (flags, sentence) => {
    const { code, stdout, stderr } = await folder.run([
      'run',
      'select.json',
      '--output',
      'json',
      ...flags,
    ]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', error: { code: 'bad_config' } });
    expect(stderr).toContain(sentence);
  });
});
