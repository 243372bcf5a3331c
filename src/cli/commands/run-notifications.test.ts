/** Whom `headgate run` tells how runs ended (spec 6). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { parts } from '../../parts.ts';
import { runCli } from '../framework/run-cli.ts';
import { testWiring, testWorld } from '../../../test/support/cli.ts';

type Told = Readonly<Record<string, unknown>>;

const dir = mkdtempSync(join(tmpdir(), 'headgate-told-'));
let receiver: HttpServer;

beforeAll(async () => {
  receiver = await startHttpServer(() => ({}));
  writeFileSync(join(dir, 'in.jsonl'), '{"id":1}\n{"id":2}\n{"id":3}\n');
});
afterEach(() => {
  receiver.requests.length = 0;
  receiver.respond(() => ({}));
});
afterAll(async () => {
  await receiver.close();
  rmSync(dir, { recursive: true });
});

const hook = (more: object = {}): object => ({
  name: 'hook',
  channel: { type: 'webhook', config: { url: `${receiver.url}/hook` } },
  ...more,
});
const told = (): Told[] => receiver.requests.map((one) => one.json() as Told);
const events = (): string[] => told().map(({ event, row }) => `${String(event)} ${String(row)}`);

const source = { type: 'jsonl', config: { path: 'in.jsonl' } };
const sink = { type: 'jsonl', config: { path: 'out.jsonl' } };

async function run(pipeline: object, rest: object = {}, ...args: string[]): Promise<number> {
  const document = { version: 1, name: 'orders', pipeline, notifications: [hook()], ...rest };
  writeFileSync(join(dir, 'orders.json'), JSON.stringify(document));
  return runCli(['run', 'orders.json', ...args], testWiring(parts), {
    ...testWorld({ cwd: dir }),
    fetch,
  });
}

test('`headgate run` tells of a success before it ends, under the id of the run', async () => {
  expect(await run({ source, sink })).toBe(0);
  expect(told()).toEqual([
    {
      event: 'run_success',
      severity: 'info',
      pipeline: 'orders',
      row: '',
      run_id: 'id-1',
      invocation_id: 'id-2',
      started_at: expect.stringMatching(/Z$/),
      finished_at: expect.stringMatching(/Z$/),
      duration_secs: expect.any(Number),
      title: 'pipeline succeeded: orders',
      message: 'records written: 3',
      details: { records_written: 3 },
    },
  ]);
});

test('`headgate run` tells of a source that fails', async () => {
  expect(await run({ source: { type: 'csv', config: { path: 'none.csv' } }, sink })).toBe(1);
  expect(told()).toMatchObject([
    {
      event: 'run_failure',
      severity: 'error',
      message: expect.stringContaining('it does not exist'),
      details: { error_kind: 'source' },
    },
  ]);
});

test('`headgate run` tells of a broken contract, and of nothing else', async () => {
  const contract = { version: '1', on_breach: 'fail', fields: [{ name: 'name', type: 'string' }] };
  expect(await run({ source, sink, contract })).toBe(1);
  expect(told()).toMatchObject([
    {
      event: 'contract_abort',
      severity: 'error',
      title: 'contract breach aborted the run: orders',
      details: {},
    },
  ]);
});

test('`headgate run` tells of an open circuit and of the dead letters that opened it', async () => {
  const broken = {
    type: 'sqlite',
    config: {
      database_url: 'out.db',
      table_name: 'missing',
      column_mapping: 'auto_map',
      create_table: false,
    },
  };
  const pipeline = {
    source: { type: 'jsonl', config: { path: 'in.jsonl', batch_size: 1 } },
    sink: broken,
    dlq: { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } }, on_batch_error: 'dlq_all' },
  };
  writeFileSync(join(dir, 'out.db'), '');
  expect(
    await run(pipeline, {
      resilience: { circuit_breaker: { consecutive_failures: 2, cooldown_secs: 30 } },
    }),
  ).toBe(1);
  expect(told()).toMatchObject([
    { event: 'circuit_open', severity: 'critical', details: { failures: 2, cooldown_secs: 30 } },
    { event: 'dlq_threshold', details: { records_dlq: 2 } },
  ]);
});

test('`headgate run` tells of dead letters and service levels, row by row', async () => {
  const quality = {
    record: [{ type: 'compare', field: 'id', op: 'lte', value: 1, on_failure: 'quarantine' }],
  };
  const dlq = { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } };
  const rest = {
    matrix: [
      { id: 'eu' },
      { id: 'us', sink: { config: { path: 'us.jsonl' } }, sla: { min_rows_per_run: 1 } },
    ],
    sla: { min_rows_per_run: 10 },
    notifications: [hook({ dlq_threshold: 2 })],
  };
  expect(await run({ source, sink, quality, dlq }, rest)).toBe(0);
  expect(events()).toEqual([
    'run_success eu',
    'sla_breach eu',
    'dlq_threshold eu',
    'run_success us',
    'dlq_threshold us',
  ]);
  expect(told()[1]).toMatchObject({
    title: 'SLA breach (min_rows): orders / eu',
    details: { sla_kind: 'min_rows' },
  });
  receiver.requests.length = 0;
  await run(
    { source, sink, quality, dlq },
    { ...rest, notifications: [hook({ dlq_threshold: 3 })] },
  );
  expect(events()).toEqual(['run_success eu', 'sla_breach eu', 'run_success us']);
});

test('`headgate run` tells of the sink nodes of a graph', async () => {
  const nodes = {
    in: { kind: 'source', ...source },
    both: { kind: 'tee' },
    one: { kind: 'sink', ...sink },
    two: { kind: 'sink', type: 'jsonl', config: { path: 'two.jsonl' } },
  };
  const edges = [
    { from: 'in', to: 'both' },
    { from: 'both', to: 'one' },
    { from: 'both', to: 'two' },
  ];
  expect(await run({ nodes, edges })).toBe(0);
  expect(events()).toEqual(['run_success one', 'run_success two']);
  receiver.requests.length = 0;
  expect(
    await run({
      nodes: { ...nodes, in: { kind: 'source', type: 'csv', config: { path: 'none.csv' } } },
      edges,
    }),
  ).toBe(1);
  expect(events()).toEqual(['run_failure one', 'run_failure two']);
});

test('`headgate run` tells nothing of dry and limited runs', async () => {
  expect([
    await run({ source, sink }, {}, '--dry-run'),
    await run({ source, sink }, {}, '--limit', '1'),
  ]).toEqual([0, 0]);
  expect(receiver.requests).toEqual([]);
});

test('`headgate run` is not failed by receivers that are', async () => {
  receiver.respond(() => ({ status: 500 }));
  expect(await run({ source, sink })).toBe(0);
  expect(receiver.requests).toHaveLength(2);
});
