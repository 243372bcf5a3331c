/** Graphs of nodes in the real program: submitted over HTTP, run by a worker process, cancelled. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { workshop, type Body, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const shop = workshop();
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('people.csv'), 'id,name\n1,Ada\n2,Bo\n');
  writeFileSync(shop.path('orders.csv'), 'n,person\n10,2\n11,1\n12,3\n');
  program = await shop.start({ args: ['--history', 'memory'] });
});
afterAll(() => shop.dispose());

const source = (type: string, config: Body): Body => ({ kind: 'source', type, config });
const sink = (path: string): Body => ({
  kind: 'sink',
  type: 'jsonl',
  config: { path: shop.path(path) },
});

const node = (id: string, kind: string, counts: Body): Body => ({
  id,
  kind,
  status: 'completed',
  filtered: 0,
  expanded: 0,
  dead_lettered: 0,
  ...counts,
  error: null,
});

test('a graph runs in a worker, and its record has a row for each sink node', async () => {
  const id = await program.submit({
    version: 1,
    name: 'enrich',
    pipeline: {
      nodes: {
        people: source('csv', { path: shop.path('people.csv') }),
        orders: source('csv', { path: shop.path('orders.csv') }),
        copies: { kind: 'tee' },
        join: {
          kind: 'join',
          build: { edge: 'p', key: 'id' },
          probe: { edge: 'o', key: 'person' },
          project: [{ from: 'name', as: 'name' }],
        },
        named: sink('named.jsonl'),
        plain: sink('plain.jsonl'),
      },
      edges: [
        { from: 'people', to: 'join', as: 'p' },
        { from: 'orders', to: 'copies' },
        { from: 'copies', to: 'join', as: 'o' },
        { from: 'copies', to: 'plain' },
        { from: 'join', to: 'named' },
      ],
    },
  });
  const run = await program.ended(id);
  expect(run).toMatchObject({ status: 'completed', records_written: 5, error: null });
  expect(
    run.invocations.map(({ row_id: row, balance }) => [row, balance.read, balance.written]),
  ).toEqual([
    ['named', 2, 2],
    ['plain', 3, 3],
  ]);
  expect(run['nodes']).toEqual([
    node('people', 'source', { records_in: 2, records_out: 2 }),
    node('orders', 'source', { records_in: 3, records_out: 3 }),
    node('copies', 'tee', { records_in: 3, expanded: 3, records_out: 6 }),
    node('join', 'join', { records_in: 5, filtered: 3, records_out: 2 }),
  ]);
  expect(readFileSync(shop.path('named.jsonl'), 'utf8')).toBe(
    '{"n":"10","person":"2","name":"Bo"}\n{"n":"11","person":"1","name":"Ada"}\n',
  );
  const metrics = await program.call('GET', '/metrics');
  expect(metrics.text).toMatch(/svc_join_misses_total\{.*kind="inner".*\} 1\n/);
});

test('a graph that would run for ever is cancelled, and keeps what it wrote', async () => {
  const query = 'with recursive c(i) as (select 1 union all select i + 1 from c) select i from c';
  writeFileSync(shop.path('empty.db'), '');
  const id = await program.submit({
    version: 1,
    pipeline: {
      nodes: {
        in: source('sqlite', { database_url: shop.path('empty.db'), query }),
        t: { kind: 'tee' },
        a: sink('a.jsonl'),
        b: sink('b.jsonl'),
      },
      edges: [
        { from: 'in', to: 't' },
        { from: 't', to: 'a' },
        { from: 't', to: 'b' },
      ],
    },
  });
  // A run that is said to be running may still be planned, and has no rows then.
  const kept = ['a.jsonl', 'b.jsonl'].map((name) => shop.path(name));
  await eventually(() => {
    for (const path of kept) expect(statSync(path).size).toBeGreaterThan(0);
  });
  await program.call('POST', `/v1/runs/${id}/cancel`);
  const run = await program.ended(id);
  expect(run.status).toBe('cancelled');
  expect(run.invocations.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
  for (const path of kept) expect(readFileSync(path, 'utf8')).toMatch(/^{"i":1}\n/);
});

test('a graph that cannot run is refused with every reason', async () => {
  const config = JSON.stringify({
    version: 1,
    pipeline: { nodes: { a: { kind: 'tee' } }, edges: [{ from: 'a', to: 'b' }] },
  });
  const answer = await program.call('POST', '/v1/runs', { config, config_format: 'json' });
  expect(answer.status).toBe(422);
  for (const code of ['missing_node', 'unknown_node']) expect(answer.text).toContain(code);
});
