import { describe, expect, test } from 'vitest';
import { issuesOf, plan } from '../../test/fakes/documents.ts';
import type { PlannedRow } from './plan.ts';

const SIMPLE =
  'version: 1\npipeline:\n  source: {type: lines, config: {path: in}}\n  sink: {type: lines, config: {path: out}}\n';
const rowOf = (text: string, id = 'row-0'): PlannedRow => {
  const row = plan(text).rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
};

describe('a document without a matrix', () => {
  test('is one row with the id `row-0`', () => {
    const { rows, name } = plan(SIMPLE);
    expect(rows.map((row) => [row.id, row.role, row.stateKey, row.status])).toEqual([
      ['row-0', 'root', 'test::row-0', 'active'],
    ]);
    expect(name).toBe('test');
    expect(plan(`${SIMPLE}matrix: []\n`).rows).toHaveLength(1);
  });

  test('has the defaults of the specification', () => {
    expect(plan(SIMPLE, { cpus: 6 })).toMatchObject({
      maxConcurrent: 6,
      onError: 'continue',
      schedule: 'declared',
      selectionActive: false,
    });
    expect([1, 2, 64, 0, Number.NaN].map((cpus) => plan(SIMPLE, { cpus }).maxConcurrent)).toEqual([
      1, 2, 8, 4, 4,
    ]);
    expect(rowOf(SIMPLE)).toMatchObject({
      delivery: 'at_least_once',
      guarantee: 'at-least-once',
      dlq: undefined,
    });
  });

  test('parses the configs of its parts', () => {
    const { source } = rowOf(SIMPLE);
    expect(source).toMatchObject({
      path: 'pipeline.source',
      type: 'lines',
      preset: 'default',
      deferred: false,
    });
    expect(source.parsed).toEqual({ path: 'in', batch_size: 1000 });
  });

  test('finds parts by their aliases', () => {
    expect(rowOf(SIMPLE.replace('type: lines', 'type: textlines')).source.type).toBe('lines');
  });
});

const MATRIX = `version: 1
pipeline:
  sources:
    default: {type: lines, config: {path: base, batch_size: 5}, transforms: [{type: keep, config: {fields: [preset]}}]}
    alone: {type: lines, config: {path: alone}, inherit_transforms: false, transforms: [{type: keep, config: {fields: [alone]}}], tags: [x, y], status: mandatory}
  sink: {type: nowhere}
  transforms: [{type: keep, config: {fields: [pipeline]}}]
  state: {type: folder, config: {path: s}}
  dlq: {sink: {type: lines, config: {path: dead}}, max_failures_per_page: 3}
delivery: at_least_once
matrix:
  - {id: a}
  - {source: {config: {path: own}}, transforms: [{type: keep, config: {fields: [row]}}], state: null, dlq: null}
  - {id: c, source: {ref: alone}, transforms: [{type: keep, config: {fields: [row]}}], tags: [y, z], weight: 2.5}
  - {id: d, inherit_transforms: false, state: {type: memory}, dlq: {sink: {type: nowhere}}}
  - {id: e, source: {type: numbers, config: {to: 4, path: null}}}
`;

describe('rows', () => {
  const read = MATRIX.replace(/ {2}- \{id: e.*\n/, '');
  const fields = (row: PlannedRow) =>
    row.transforms.map((transform) => (transform.parsed as { fields: string[] }).fields[0]);

  test('merge their config over the preset', () => {
    const { rows } = plan(read);
    expect(rows.map((row) => row.id)).toEqual(['a', 'row-1', 'c', 'd']);
    expect(rows.map((row) => row.source.parsed)).toEqual([
      { path: 'base', batch_size: 5 },
      { path: 'own', batch_size: 5 },
      { path: 'alone', batch_size: 1000 },
      { path: 'base', batch_size: 5 },
    ]);
    expect(rows.map((row) => [row.source.path, row.source.preset])).toEqual([
      ['pipeline.sources.default', 'default'],
      ['matrix[1].source', 'default'],
      ['matrix[2].source', 'alone'],
      ['pipeline.sources.default', 'default'],
    ]);
  });

  test('a replaced type has of the preset what it knows', () => {
    const { rows, warnings } = plan(MATRIX);
    expect(rows[4]?.source).toMatchObject({ type: 'numbers', parsed: { to: 4 } });
    const of = ({ code, path }: { code: string; path: string }): string => `${code} ${path}`;
    expect(warnings.map(of)).toContain('without_effect pipeline.sources.default.config.batch_size');
    expect(warnings.map(of)).not.toContain('without_effect pipeline.sources.default.config.path');
  });

  test('a replaced type does not excuse what the row says itself', () => {
    expect(issuesOf(() => plan(MATRIX.replace('to: 4, path: null', 'too: 4')))).toEqual([
      'missing_key matrix[4].source.config.to',
      'unknown_key matrix[4].source.config.too',
    ]);
    expect(issuesOf(() => plan(MATRIX.replace('to: 4, path: null', 'to: 4, path: own')))).toEqual([
      'unknown_key matrix[4].source.config.path',
    ]);
  });

  test('layer their transforms', () => {
    expect(plan(read).rows.map(fields)).toEqual([
      ['pipeline', 'preset'],
      ['pipeline', 'preset', 'row'],
      ['alone', 'row'],
      [],
    ]);
  });

  test('inherit, drop or replace state and dead-letter queue', () => {
    const { rows, warnings } = plan(read);
    expect(rows.map((row) => row.state?.type)).toEqual(['folder', undefined, 'folder', 'memory']);
    expect(rows.map((row) => row.dlq?.sink.type)).toEqual(['lines', undefined, 'lines', 'nowhere']);
    expect(rows[0]?.dlq).toMatchObject({
      maxFailuresPerPage: 3,
      maxFailuresTotal: undefined,
      onBatchError: 'propagate',
    });
    expect(warnings.map((warning) => `${warning.code} ${warning.path}`)).toEqual([
      'state_not_durable matrix[3].state',
    ]);
  });

  test('carry tags, status and weight', () => {
    expect(rowOf(read, 'c')).toMatchObject({
      tags: ['x', 'y', 'z'],
      status: 'mandatory',
      weight: 2.5,
      index: 2,
    });
  });

  test('need no preset when they name a type of their own', () => {
    const text =
      'version: 1\npipeline: {}\nmatrix: [{id: a, source: {type: numbers, config: {to: 2}}, sink: {type: nowhere}}]';
    expect(rowOf(text, 'a').source.parsed).toEqual({ to: 2 });
  });
});

describe('child rows', () => {
  const text = (token: string, key: string) => `${SIMPLE}matrix:
  - {id: users, sink: {config: {path: users}}}
  - {id: posts, parent: users${key}, source: {config: {path: "${token}"}}, sink: {config: {path: "p-\${users.id}"}}}
`;
  const child = (token: string, key = '') => rowOf(text(token, key), 'posts');

  test('name the fields of the parent record that they use', () => {
    expect(child('${users.address.city}').parent).toEqual({
      row: 'users',
      key: 'id',
      fields: ['address', 'id'],
    });
    expect(child('x', ', parent_key: a.b').parent).toEqual({
      row: 'users',
      key: 'a.b',
      fields: ['id', 'a'],
    });
    expect(child('${users}').parent?.fields).toBe('record');
    expect(child('x', ', parent_key: ""').parent?.fields).toBe('record');
  });

  test('make their parent travel as records', () => {
    const parent = rowOf(text('x', ''), 'users');
    expect(parent.lane).toEqual({
      lane: { form: 'records' },
      reason: 'records: row `posts` runs once for each record',
    });
  });

  test('are deferred where a token stands', () => {
    const { source, sink } = child('x');
    expect([source.deferred, sink.deferred, sink.parsed]).toEqual([false, true, undefined]);
  });
});

describe('the lane', () => {
  const lane = (more: string) => rowOf(SIMPLE + more).lane.reason;

  test('is bytes when both sides share an encoding and nobody looks at records', () => {
    expect(rowOf(SIMPLE).lane).toEqual({
      lane: { form: 'bytes', encoding: 'jsonl' },
      reason: 'bytes: source and sink both speak jsonl',
    });
  });

  test('is records with the first reason', () => {
    expect(lane('  transforms: [{type: keep, config: {fields: [a, b]}}]')).toBe(
      'records: transform `keep` reads `a`, `b`',
    );
    expect(lane('  transforms: [{type: set, config: {values: {a: "${now.date}"}}}]')).toBe(
      'records: transform `set` changes records',
    );
    expect(lane('  masking: {rules: [{match: {fields: [a]}, action: {type: hash}}]}')).toBe(
      'records: `masking` looks at every field',
    );
    expect(lane('  quality: {record: [{type: not_null, field: a, on_failure: abort}]}')).toBe(
      'records: `quality` checks every record',
    );
    expect(lane('  contract: {version: "1", fields: [{name: a, type: string}]}')).toBe(
      'records: `contract` checks every record',
    );
    expect(
      rowOf(SIMPLE.replace('{type: lines, config: {path: out}}', '{type: nowhere}')).lane.reason,
    ).toBe('records: `lines` and `nowhere` have no encoding in common');
  });

  test('is judged around run-time tokens', () => {
    expect(rowOf(SIMPLE.replace('path: out', 'path: "${now.date}"')).lane.lane.form).toBe('bytes');
  });
});

describe('deferred configs', () => {
  test('are judged with placeholders, so that only real faults are reported', () => {
    const text = (config: string) =>
      `version: 1\npipeline:\n  source: {type: numbers, config: ${config}}\n  sink: {type: nowhere}\n`;
    expect(rowOf(text('{to: "${now.day}"}')).source).toMatchObject({
      deferred: true,
      parsed: undefined,
      judged: { to: 1 },
    });
    expect(issuesOf(() => plan(text('{to: "${now.day}", step: 1000}')))).toEqual([
      'out_of_range pipeline.source.config.step',
    ]);
    expect(issuesOf(() => plan(text('{to: "${now.day}", x: "${now.day}"}')))).toEqual([
      'unknown_key pipeline.source.config.x',
    ]);
  });

  test('a key that holds a token may turn out to be a known one', () => {
    const text =
      'version: 1\npipeline:\n  source: {type: numbers, config: {to: 3, "${now.day}": 1}}\n  sink: {type: nowhere}\n';
    expect(rowOf(text).source).toMatchObject({ deferred: true, judged: undefined });
  });

  test('a token where no placeholder fits is left to the run', () => {
    const text =
      'version: 1\npipeline:\n  source: {type: changes, config: {mode: "${now.day}"}}\n  sink: {type: nowhere}\n';
    expect(rowOf(text)).toMatchObject({
      lane: { reason: 'records: the source is known only at run time' },
    });
  });
});

describe('delivery', () => {
  const table = (config: string, more = '') =>
    `version: 1\npipeline:\n  source: {type: numbers, config: {to: 1}}\n  sink: {type: table, config: ${config}}\n${more}`;

  test('the guarantee is derived, whatever is asked for', () => {
    expect(rowOf(table('{table: t}')).guarantee).toBe('at-least-once');
    expect(rowOf(table('{table: t, write_mode: upsert, key: [id]}')).guarantee).toBe(
      'effectively-once (keyed upsert)',
    );
    expect(
      rowOf(table('{table: t, write_mode: delete, key: [id]}', 'delivery: exactly_once\n'))
        .delivery,
    ).toBe('exactly_once');
  });

  test('a dead-letter queue appends, whatever its sink is configured to do', () => {
    const dlq =
      '  dlq: {sink: {type: table, config: {table: d, write_mode: upsert, key: [id]}}, on_batch_error: dlq_all}\n';
    expect(rowOf(table('{table: t}', dlq)).dlq?.sink.parsed).toEqual({
      table: 'd',
      write_mode: 'append',
      key: [],
    });
  });

  test('dlq_all on a sink that may keep half a page has to be accepted', () => {
    const dlq = (more: string) =>
      `${SIMPLE}  dlq: {sink: {type: nowhere}, on_batch_error: dlq_all${more}}\n`;
    expect(issuesOf(() => plan(dlq('')))).toEqual(['dlq_all_unsafe pipeline.dlq.on_batch_error']);
    expect(rowOf(dlq(', allow_duplicates_on_dlq_all: true')).dlq?.onBatchError).toBe('dlq_all');
  });
});

test('doubts are warnings with a place', () => {
  const { warnings } = plan(`${SIMPLE}  state: {type: memory}\n`);
  expect(warnings.map(({ code, path, line }) => [code, path, line])).toEqual([
    ['replaced_output', 'pipeline.sink.config', 4],
    ['state_not_durable', 'pipeline.state', 5],
  ]);
  const counting = SIMPLE.replace(
    '{type: lines, config: {path: in}}',
    '{type: numbers, config: {to: 1}}',
  );
  expect(
    plan(`${counting}  state: {type: folder, config: {path: s}}\n`).warnings.map(
      (warning) => warning.code,
    ),
  ).toEqual(['state_unused']);
});

test('literals are restored in every part', () => {
  const text = `${SIMPLE.replace('path: in', () => 'path: "$${x}"')}  transforms: [{type: set, config: {values: {a: "$\${now.date}"}}}]\nauth: {a: {type: static, config: {token: "$\${t}"}}}`;
  const made = plan(text);
  expect(made.rows[0]?.source.parsed).toMatchObject({ path: '${x}' });
  expect(made.rows[0]?.transforms[0]?.parsed).toEqual({ values: { a: '${now.date}' } });
  expect(made.auth['a']?.config).toEqual({ token: '${t}' });
});
