import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { inProcessJobs } from '../../../test/support/jobs.ts';
import { parts } from '../../parts.ts';
import type { GraphPreview, RowPreview, StagePreview } from '../../wire/stage-preview.ts';
import { createStagePreview } from './stage-preview.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-stages-'));
  writeFileSync(join(folder, 'in.csv'), 'id,mail\n1,ann@example.com\n2,bea@example.com\n3,x\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

function preview(config: string, row?: string): Promise<StagePreview> {
  const show = createStagePreview({
    jobs: inProcessJobs({ env: testEnv(), parts }),
    base: () => undefined,
  });
  const request = { config, config_format: 'yaml' as const, limit: 10 };
  return show(row === undefined ? request : { ...request, row }, new AbortController().signal);
}

async function rowPreview(config: string): Promise<RowPreview> {
  const shown = await preview(config);
  if ('nodes' in shown) throw new Error('there is no graph in the document');
  return shown;
}

async function graphPreview(config: string, node?: string): Promise<GraphPreview['nodes']> {
  const shown = await preview(config, node);
  if (!('nodes' in shown)) throw new Error('there is a graph in the document');
  return shown.nodes;
}

const documentOf = (rest = ''): string => `version: 1
pipeline:
  source: { type: csv, config: { path: ${folder}/in.csv } }
  transforms:
    - { type: filter, config: { path: $.id, op: ne, value: '2' } }
    - { type: rename_field, config: { fields: { mail: contact } } }
  sink: { type: jsonl, config: { path: ${folder}/out.jsonl } }
${rest}`;

it('shows the records after each stage, and writes nothing', async () => {
  const shown = await rowPreview(documentOf());
  expect(shown).toMatchObject({ row: 'row-0', source: 'csv', sink: 'jsonl', error: null });
  expect(shown.input).toHaveLength(3);
  expect(
    shown.stages.map(({ stage, before, after, filtered }) => [
      stage,
      before.length,
      after.length,
      filtered,
    ]),
  ).toEqual([
    ['transform filter', 3, 2, 1],
    ['transform rename_field', 2, 2, 0],
  ]);
  expect(shown.output).toEqual([
    { id: '1', contact: 'ann@example.com' },
    { id: '3', contact: 'x' },
  ]);
  expect(existsSync(join(folder, 'out.jsonl'))).toBe(false);
});

it('hides what masking hides, at every stage', async () => {
  const masking =
    '  masking: { rules: [{ match: { fields: [contact] }, action: { type: redact } }] }\n';
  const shown = await preview(documentOf(masking));
  expect(JSON.stringify(shown)).not.toContain('example.com');
});

it('refuses a row that is not there', async () => {
  await expect(preview(documentOf(), 'other')).rejects.toMatchObject({
    code: 'unprocessable',
    message: 'there is no row "other" that can be read by itself',
  });
});

it('tells of a source that cannot be read as the run would', async () => {
  rmSync(join(folder, 'in.csv'));
  await expect(preview(documentOf())).rejects.toThrow(/in\.csv/);
});

it('hides in dead letters and their reasons what masking hides later', async () => {
  writeFileSync(join(folder, 'in.csv'), 'id,mail\n1,ann@example.com\n');
  const shown = await rowPreview(`version: 1
pipeline:
  source: { type: csv, config: { path: ${folder}/in.csv } }
  transforms:
    - { type: cast, config: { fields: { mail: int }, on_error: dlq } }
    - { type: rename_field, config: { fields: { mail: contact } } }
  masking: { rules: [{ match: { fields: [contact] }, action: { type: redact } }] }
  dlq: { sink: { type: jsonl, config: { path: ${folder}/dead.jsonl } } }
  sink: { type: jsonl, config: { path: ${folder}/out.jsonl } }
`);
  expect(shown.stages[0]?.dead).toHaveLength(1);
  expect(JSON.stringify(shown)).not.toContain('example.com');
});

const graphOf = (rest = ''): string => `version: 1
pipeline:
  sources:
    people: { type: csv, config: { path: ${folder}/in.csv } }
    more: { type: csv, config: { path: ${folder}/more.csv } }
    orders: { type: csv, config: { path: ${folder}/orders.csv } }
  nodes:
    people: { kind: source, ref: people }
    more: { kind: source, ref: more }
    all: { kind: merge }
    orders: { kind: source, ref: orders }
    copies: { kind: tee }
    typed: { kind: transform, transforms: [{ type: cast, config: { fields: { n: int } } }, { type: filter, config: { path: $.n, op: ne, value: 10 } }] }
    named: { kind: join, mode: left, build: { edge: p, key: id }, probe: { edge: o, key: person }, project: [{ from: mail, as: mail }] }
    out: { kind: sink, type: jsonl, config: { path: ${folder}/out.jsonl } }
    raw: { kind: sink, type: jsonl, config: { path: ${folder}/raw.jsonl } }
  edges:
    - { from: people, to: all }
    - { from: more, to: all }
    - { from: all, to: named, as: p }
    - { from: orders, to: copies }
    - { from: copies, to: raw }
    - { from: copies, to: typed }
    - { from: typed, to: named, as: o }
    - { from: named, to: out }
${rest}`;

function writeGraphData(): void {
  writeFileSync(join(folder, 'more.csv'), 'id,mail\n4,dan@example.com\n');
  writeFileSync(join(folder, 'orders.csv'), 'n,person\n10,1\n11,1\n12,4\n13,9\n');
}

it('shows what each node of a graph is given and hands on, and writes nothing', async () => {
  writeGraphData();
  const nodes = await graphPreview(graphOf());
  const byName = Object.fromEntries(nodes.map((node) => [node.node, node]));
  expect(
    nodes.map(({ node, kind, connector, inputs, output }) => [
      node,
      kind,
      connector,
      inputs.map(({ from, label, records }) => [from, label, records.length]),
      output.length,
    ]),
  ).toEqual(
    expect.arrayContaining([
      ['people', 'source', 'csv', [], 3],
      [
        'all',
        'merge',
        null,
        [
          ['people', null, 3],
          ['more', null, 1],
        ],
        4,
      ],
      ['copies', 'tee', null, [['orders', null, 4]], 4],
      ['typed', 'transform', null, [['copies', null, 4]], 3],
      [
        'named',
        'join',
        null,
        [
          ['all', 'p', 4],
          ['typed', 'o', 3],
        ],
        3,
      ],
      ['raw', 'sink', 'jsonl', [['copies', null, 4]], 4],
      ['out', 'sink', 'jsonl', [['named', null, 3]], 3],
    ]),
  );
  expect(nodes).toHaveLength(9);
  expect(byName['typed']?.stages.map(({ stage, filtered }) => [stage, filtered])).toEqual([
    ['transform cast', 0],
    ['transform filter', 1],
  ]);
  expect(byName['out']?.output).toEqual([
    { n: 11, person: '1', mail: 'ann@example.com' },
    { n: 12, person: '4', mail: 'dan@example.com' },
    { n: 13, person: '9', mail: null },
  ]);
  // A transform on one branch of a tee changes nothing on the other.
  expect(byName['raw']?.output[0]).toEqual({ n: '10', person: '1' });
  expect(existsSync(join(folder, 'out.jsonl'))).toBe(false);
});

it('shows one node of a graph with what leads to it, and reads no other source', async () => {
  writeGraphData();
  rmSync(join(folder, 'in.csv'));
  expect((await graphPreview(graphOf(), 'typed')).map(({ node }) => node)).toEqual([
    'orders',
    'copies',
    'typed',
  ]);
  await expect(graphPreview(graphOf())).rejects.toThrow(/in\.csv/);
  await expect(graphPreview(graphOf(), 'nowhere')).rejects.toMatchObject({
    code: 'unprocessable',
    message: 'there is no node "nowhere"',
  });
});

it('tells at which node of a graph the run would end', async () => {
  writeGraphData();
  writeFileSync(join(folder, 'orders.csv'), 'n,person\nx,1\n');
  const nodes = await graphPreview(graphOf());
  expect(nodes.flatMap(({ node, error }) => (error === null ? [] : [[node, error]]))).toEqual([
    ['typed', expect.stringContaining('`n`')],
  ]);
});

it('hides at every node of a graph what masking hides at a sink', async () => {
  writeGraphData();
  const masking =
    '  masking: { rules: [{ match: { fields: [mail] }, action: { type: redact } }] }\n';
  const nodes = await graphPreview(graphOf(masking));
  expect(JSON.stringify(nodes)).not.toContain('example.com');
  expect(nodes.find(({ node }) => node === 'out')?.output[0]).toEqual({
    n: 11,
    person: '1',
    mail: '***',
  });
});
