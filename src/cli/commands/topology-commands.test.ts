import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-graph-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const GRAPH = `version: 1
name: enrich
pipeline:
  sources:
    cust: { type: csv, config: { path: c.csv } }
    ord: { type: csv, config: { path: o.csv } }
  sinks:
    out: { type: jsonl, config: { path: o.jsonl } }
    raw: { type: jsonl, config: { path: raw.jsonl } }
  masking:
    rules: [{ match: { fields: [cust_id] }, action: { type: redact }, applies_to: [raw] }]
  state: { type: file, config: { path: .state } }
  nodes:
    c: { kind: source, ref: cust }
    o: { kind: source, ref: ord }
    t: { kind: tee }
    j: { kind: join, mode: left, build: { edge: right, key: id }, probe: { edge: left, key: cust_id }, project: [{ from: tier, as: tier }] }
    w: { kind: sink, ref: out }
    r: { kind: sink, ref: raw }
  edges:
    - { from: c, to: j, as: right }
    - { from: o, to: t }
    - { from: t, to: j, as: left }
    - { from: t, to: r }
    - { from: j, to: w }
`;

async function cli(line: string, text = GRAPH): Promise<Done> {
  writeFileSync(path.join(cwd, 'headgate.yaml'), text);
  writeFileSync(path.join(cwd, 'c.csv'), 'id,tier\n1,gold\n2,free\n');
  writeFileSync(path.join(cwd, 'o.csv'), 'n,cust_id\n10,2\n11,1\n12,3\n');
  return runCommand(line.split(' '), testWiring(parts), { cwd });
}

it('validate says which nodes there are', async () => {
  const { code, out } = await cli('validate --json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    valid: true,
    mode: 'topology',
    name: 'enrich',
    params: {},
    node_count: 6,
    edge_count: 5,
    nodes: [
      { id: 'c', kind: 'source' },
      { id: 'o', kind: 'source' },
      { id: 't', kind: 'tee' },
      { id: 'j', kind: 'join' },
      { id: 'r', kind: 'sink' },
      { id: 'w', kind: 'sink' },
    ],
    warnings: [
      {
        block: 'pipeline.state',
        consequence:
          'every run reads everything, and no bookmark is stored: the graph has 2 source nodes, and a position is of one source',
      },
    ],
  });
  expect(
    JSON.parse((await cli('validate --json', GRAPH.replace('to: w', 'to: v'))).out),
  ).toMatchObject({ valid: false, mode: 'topology' });
});

it('plan and explain draw the graph and describe each sink', async () => {
  const { out } = await cli('plan');
  expect(out).toContain('enrich: 6 nodes, all at the same time, on error continue');
  expect(out).toMatch(/^ {2}j +join +left: left\.cust_id = right\.id, brings tier +→ w$/m);
  expect(out).toMatch(/^ {2}t +tee +every record to each +→ j \(left\) {2}→ r$/m);
  expect(out).toContain('every run reads everything: the graph has 2 source nodes');
  expect(out).toMatch(/state +file, key enrich::w/);
  const { rows, ...graph } = JSON.parse((await cli('plan --json')).out) as {
    rows: { row: string }[];
    edges: unknown[];
  };
  expect(rows.map(({ row }) => row)).toEqual(['w', 'r']);
  expect(graph.edges[0]).toEqual({ from: 'c', to: 'j', as: 'right', capacity: 4, spills: false });
  expect(JSON.parse((await cli('plan --json --row w')).out)).toMatchObject({
    row: 'w',
    sink: { type: 'jsonl' },
  });
  const explained = (await cli('explain')).out;
  expect(explained).toContain('Pipeline enrich is a graph of 6 nodes that run at the same time.');
  expect(explained).toMatch(/j +join/);
  expect(explained).toContain('Takes what node j hands on.');
});

it('preview shows what each sink would be given, and touches nothing', async () => {
  const { out, err, code } = await cli('preview --limit 2');
  expect(code).toBe(0);
  expect(err).toContain('sink node w:');
  expect(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { n: '10', cust_id: '2', tier: 'free' },
    { n: '11', cust_id: '1', tier: 'gold' },
    { n: '10', cust_id: '***' },
    { n: '11', cust_id: '***' },
  ]);
  expect(() => readFileSync(path.join(cwd, 'o.jsonl'))).toThrow('no such file');
});

it('run moves the records and tells what went through each node', async () => {
  const { code, err } = await cli('run');
  expect(code).toBe(0);
  expect(err).toMatch(/^ {2}j +join +completed +5 +2 +0 +3$/m);
  expect(readFileSync(path.join(cwd, 'o.jsonl'), 'utf8')).toBe(
    '{"n":"10","cust_id":"2","tier":"free"}\n{"n":"11","cust_id":"1","tier":"gold"}\n{"n":"12","cust_id":"3","tier":null}\n',
  );
  const document = JSON.parse((await cli('run --output json')).out) as {
    rows: { row_id: string }[];
    nodes: { id: string }[];
  };
  expect(document.rows.map(({ row_id: id }) => id)).toEqual(['w', 'r']);
  expect(document.nodes.map(({ id }) => id)).toEqual(['c', 'o', 't', 'j']);
});

it('doctor checks every source once, and every sink', async () => {
  const { code, out } = await cli('doctor --json');
  expect(code).toBe(0);
  const { invocations } = JSON.parse(out) as {
    invocations: { id: string; probes: { role: string }[] }[];
  };
  expect(
    invocations.map(({ id, probes }) => [id, [...new Set(probes.map(({ role }) => role))]]),
  ).toEqual([
    ['c', ['source']],
    ['o', ['source']],
    ['w', ['sink', 'state']],
    ['r', ['sink', 'state']],
  ]);
});

it('no sink may write a file that the graph reads', async () => {
  const { code, err } = await cli('validate', GRAPH.replace('path: raw.jsonl', 'path: o.csv'));
  expect(code).not.toBe(0);
  expect(err).toContain('sink node `r` writes the file it reads: `o.csv`');
});

it('rows cannot be selected where there are nodes', async () => {
  expect((await cli('run --only w')).err).toContain(
    '--only cannot be used: the document has no `matrix`',
  );
});

it('plan shows what a sink node does to the records of a file', async () => {
  writeFileSync(path.join(cwd, 's.jsonl'), '{"n":"10","cust_id":"2"}\n');
  const masked = await cli('plan --sample s.jsonl --row r --json');
  expect(JSON.parse(masked.out)).toMatchObject({
    row: 'r',
    masking: { rules: 1 },
    sample: {
      output_records: 1,
      stages: [{ stage: 'masking', after: [{ n: '10', cust_id: '***' }] }],
    },
  });
  expect(masked.out).not.toContain('"2"');
  expect((await cli('plan --sample s.jsonl --row w')).out).toContain('{"n":"10","cust_id":"2"}');
  expect(await cli('plan --sample s.jsonl')).toMatchObject({
    code: 2,
    err: expect.stringContaining('a sample goes to one sink node') as string,
  });
});

it('preview --stages shows each node, with what it is given and hands on', async () => {
  const { code, out } = await cli('preview --stages --limit 2');
  expect(code).toBe(0);
  expect(out).toContain('c  source csv\n  hands on 2 records\n');
  expect(out).toContain('j  join, 2 records of c as right, 2 records of t as left\n');
  expect(out).toMatch(/\nr {2}sink jsonl, 2 records of t\n\n {2}masking {2}2 → 2\n/);
  expect(out).toContain('"cust_id":"***"');
  expect(existsSync(path.join(cwd, 'o.jsonl'))).toBe(false);
});
