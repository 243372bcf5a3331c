import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-plan-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(line: string): Promise<Done> {
  return runCommand(line.split(' '), testWiring(parts), { cwd });
}

function write(name: string, text: string): void {
  writeFileSync(path.join(cwd, name), text);
}

const DOCUMENT = `version: 1
name: people
pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms:
    - { type: filter, config: { path: age, op: ne, value: '' } }
    - { type: cast, config: { fields: { age: int } } }
    - { type: rename_field, config: { mapping: { contact: mail } } }
    - { type: drop, config: { fields: [note] } }
  masking: { rules: [{ match: { fields: [mail] }, action: { type: partial, keep_last: 3 } }] }
  quality: { record: [{ type: compare, field: age, op: gte, value: 18, on_failure: quarantine }] }
  dlq: { sink: { type: jsonl, config: { path: dead.jsonl } } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;
const PEOPLE = 'age,contact,note\n36,ada@x.org,write ada@x.org\n7,bo@x.org,\n,cy@x.org,\n';

describe('a sample', () => {
  beforeEach(() => {
    write(
      'headgate.yaml',
      DOCUMENT.replace('rename_field, config: { mapping:', 'rename_field, config: { fields:'),
    );
    write('in.csv', PEOPLE);
  });

  it.each(['plan --live', 'plan --sample in.yaml', 'preview --stages', 'explain --sample in.yaml'])(
    'that `%s` shows goes through every stage, and what masking hides is hidden before it, too',
    async (how) => {
      write(
        'in.yaml',
        '- { age: "36", contact: ada@x.org, note: write ada@x.org }\n- { age: "7", contact: bo@x.org }\n- { age: "", contact: cy@x.org }\n',
      );
      const { code, out, err } = await cli(how);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).not.toMatch(/ada@|bo@|cy@/);
      expect(out).toContain('transform filter  3 → 2 (1 filtered)');
      expect(out).toMatch(/transform cast {2}2 → 2\n {4}\{"age":"36",.*\} {2}→ {2}\{"age":36,/);
      expect(out).toContain('types: age: int64, …');
      expect(out).toContain('"mail":"******org"');
      expect(out).toContain('quality  2 → 1 (1 dead)');
      expect(out).toMatch(/dead \(quality\) \{"age":7,.*\} {2}\S/);
      expect(out).toContain('to jsonl: 1 record; to the dead-letter queue: 1');
      for (const name of ['out.jsonl', 'dead.jsonl'])
        expect(existsSync(path.join(cwd, name))).toBe(false);
    },
  );

  it('is data for programs, with the columns it comes to', async () => {
    expect(JSON.parse((await cli('plan --live --json --limit 1')).out)).toMatchObject({
      row: 'row-0',
      sample: {
        source: 'live: csv',
        input_records: 1,
        output_records: 1,
        dlq_records: 0,
        inferred_schema: [
          { name: 'age', types: ['integer'], nullable: false },
          { name: 'mail', types: ['string'], nullable: false },
        ],
      },
    });
  });

  it('is added to the explanation for programs', async () => {
    write('one.jsonl', '{"age":"36","contact":"ada@x.org"}\n');
    expect(JSON.parse((await cli('explain --sample one.jsonl --json')).out)).toMatchObject({
      sample: { input_records: 1, output_records: 1 },
    });
  });

  it('says where a run would end', async () => {
    write('bad.jsonl', '{"age":"old","contact":"x"}\n');
    const { code, out } = await cli('plan --sample bad.jsonl');
    expect(code).toBe(1);
    expect(out).toContain('the run would end here: transform `cast`');
  });

  it('is refused with a comparison, and for several rows', async () => {
    expect(await cli('plan --live --diff headgate.yaml')).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be used together with') as string,
    });
    write(
      'two.yaml',
      `${DOCUMENT.replace('mapping', 'fields')}matrix: [{ id: a }, { id: b, sink: { config: { path: b } } }]\n`,
    );
    expect(await cli('plan two.yaml --sample in.csv')).toMatchObject({
      code: 2,
      err: expect.stringContaining('rows: a, b') as string,
    });
  });
});

const BEFORE = `version: 1
name: orders
pipeline:
  source: { type: postgres, config: { connection_url: 'postgres://api.example.org/d', query: SELECT 1, replication: { type: incremental, column: id, initial_value: 0 } } }
  state: { type: file, config: { path: state } }
  sink: { type: jsonl, config: { path: out.jsonl, append: true } }
matrix:
  - { id: eu, transforms: [{ type: select, config: { fields: [id, at] } }] }
  - { id: us, sink: { config: { path: us.jsonl } } }
`;

describe('a comparison of two documents', () => {
  beforeEach(() => write('before.yaml', BEFORE));

  it('finds nothing where nothing is decided otherwise', async () => {
    write('after.yaml', BEFORE.replace('version: 1', '# another text\nversion: 1'));
    expect((await cli('plan after.yaml --diff before.yaml')).out).toBe(
      'no difference to before.yaml\n',
    );
  });

  it('tells rows, parts, settings by name, and bookmarks that are not found any more', async () => {
    write(
      'after.yaml',
      BEFORE.replace('name: orders', 'name: sales')
        .replace('[id, at]', '[id]')
        .replace('id: us,', 'id: uk,')
        .replace('out.jsonl, append', "'eu.csv', delimiter: ';', append")
        .replace('sink: { type: jsonl', 'sink: { type: csv'),
    );
    const { code, out } = await cli('plan after.yaml --diff before.yaml');
    expect(code).toBe(0);
    expect(out).toContain('name  orders → sales');
    expect(out).toContain(
      'row  gone: postgres → jsonl\n    warning: its bookmark stays behind under orders::us',
    );
    expect(out).toContain('settings of transform 1 (select)  fields is different');
    expect(out).toContain('sink  jsonl → csv');
    expect(out).toContain(
      'state  file, key orders::eu → file, key sales::eu\n    warning: the next run finds no bookmark and reads everything again',
    );
    expect(out).toMatch(/uk\n {2}row {2}new: postgres → csv\n {4}warning: /);
  });

  it('tells what a row is held to, and what becomes of dead letters', async () => {
    const governed = (budget: string, least: number, more = '') =>
      BEFORE.replace(
        'matrix:',
        `  dlq: { ${budget}sink: { type: jsonl, config: { path: dead.jsonl } } }\nsla: { min_rows_per_run: ${least} }\n${more}matrix:`,
      );
    write('before.yaml', governed('', 1));
    write(
      'after.yaml',
      governed('max_failures_total: 3, ', 5, 'resilience: { retry: {} }\nmetadata_columns: {}\n'),
    );
    const { out } = await cli('plan after.yaml --diff before.yaml --select us');
    expect(out).toContain('settings of dlq  max_failures_total is different');
    expect(out).toContain('expects  at least 1 record → at least 5 records');
    expect(out).toContain('retries  new: 5 attempts');
    expect(out).toContain('stamped columns  new: _svc_extracted_at');
  });

  it('tells what the nodes of a graph do otherwise', async () => {
    const graph = (type: string, nodes: string, edges: string) =>
      `version: 1\nname: g\npipeline:\n  source: { type: jsonl, config: { path: a } }\n  sink: { type: jsonl, config: { path: b } }\n` +
      `  nodes: { s: { kind: source }, x: { kind: transform, transforms: [{ type: cast, config: { fields: { a: ${type} } } }] }, w: { kind: sink }${nodes} }\n` +
      `  edges: [{ from: s, to: x }, ${edges}]\n`;
    write('before.yaml', graph('int', '', '{ from: x, to: w }'));
    const more = ', t: { kind: tee }, v: { kind: sink, config: { path: v } }';
    write(
      'after.yaml',
      graph('float', more, '{ from: x, to: t }, { from: t, to: w }, { from: t, to: v }'),
    );
    const { out } = await cli('plan after.yaml --diff before.yaml');
    expect(out).toContain(
      'nodes  s (source), w (sink), x (transform) → s (source), t (tee), v (sink), w (sink), x (transform)',
    );
    expect(out).toContain('settings of node x, transform 1 (cast)  fields is different');
  });

  it('is data for programs, and shows no settings', async () => {
    write('after.yaml', BEFORE.replace('postgres://', 'postgres://user:hidden@'));
    const { out } = await cli('plan after.yaml --diff before.yaml --json --select eu');
    expect(out).not.toContain('hidden');
    expect(JSON.parse(out)).toEqual({
      before: 'before.yaml',
      changes: [
        { row: 'eu', what: 'settings of the source', before: null, after: 'connection_url' },
      ],
    });
  });
});

describe('types that are inferred', () => {
  const document = (source: string): string => `version: 1
name: people
pipeline:
  source: ${source}
  transforms: [{ type: cast, config: { fields: { age: float } } }]
  sink: { type: jsonl, config: { path: out.jsonl } }
`;
  const CSV = '{ type: csv, config: { path: in.csv, infer_types: true, columns: { zip: utf8 } } }';

  it('are shown with what they were found in', async () => {
    write('headgate.yaml', document(CSV));
    write('in.csv', 'age,code,zip\n36,7,1\n40,07,2\n,8,3\n');
    const { out, err } = await cli('plan');
    expect(err).toBe('');
    expect(out).toContain('types         source: age: int64, code: utf8, zip: utf8, …');
    expect(out).toContain('transform cast: age: float64, code: utf8, zip: utf8, …');
    expect(out).toContain('inferred      age is int64 in 2 values, 1 empty\n');
    expect(out).toContain('code is utf8 in 3 values: record 2 has a leading zero');
    expect(out).not.toContain('zip is utf8 in');
    expect((await cli('explain')).out).toContain('Inferred: age is int64 in 2 values, 1 empty.');
    expect((await cli('preview --stages --limit 1')).out).toContain(
      'inferred: code is utf8 in 3 values: record 2 has a leading zero',
    );
    const [plan, explained] = [await cli('plan --json'), await cli('explain --json')].map(
      ({ out: text }) => JSON.parse(text) as { types?: unknown; rows?: [{ types: unknown }] },
    );
    const types = plan?.types ?? [];
    expect(types).toMatchObject([
      { fields: [{ name: 'age', inferred: { values: 2, empty: 1 } }, {}, {}] },
      {},
    ]);
    expect(explained?.rows?.[0]?.types).toEqual(types);
  });

  it('are not known where nothing can be read', async () => {
    write('headgate.yaml', document(CSV));
    const { code, out } = await cli('plan');
    expect(code).toBe(0);
    expect(out).toMatch(
      /types {9}source: inferred from records that cannot be read now: .*in\.csv/,
    );
    write(
      'headgate.yaml',
      document('{ type: rest, config: { base_url: "http://127.0.0.1:1", infer_types: true } }'),
    );
    expect((await cli('plan')).out).toContain(
      'source: inferred from the first records when they are read; `plan --live` shows them',
    );
    expect(JSON.parse((await cli('plan --json')).out)).toHaveProperty('types_pending');
  });
});

it('a plan names the settings that the concurrency of a submission replaces', async () => {
  write(
    'headgate.yaml',
    `version: 1
name: c
pipeline:
  source: { type: file, config: { path: 'in/*.csv', concurrency: 9 } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`,
  );
  expect((await cli('plan')).out).toContain(
    'concurrency   `concurrency` of file (now 9); a run submitted with `concurrency` replaces it',
  );
  write('headgate.yaml', DOCUMENT.replace(/ {4}- \{ type: rename.*\n/, ''));
  expect((await cli('plan')).out).not.toContain('concurrency ');
});
