import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import {
  dlqPlan,
  fakeSink,
  fakeSource,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { contractSchema } from '../../blocks/contract/schema.ts';
import { csvSink } from '../../connectors/csv/index.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { PlannedPart } from '../../plan/plan.ts';

const contract = contractSchema.parse({
  version: '1',
  on_breach: 'quarantine',
  fields: [{ name: 'a', type: 'integer' }],
});
const source = fakeSource([{ records: [{ a: 1 }, { a: 'two' }] }]);

function rowWith(queue: PlannedPart<SinkDefinition>) {
  return planOf([
    plannedRow(source, fakeSink().definition, {
      blocks: { contract },
      dlq: { ...dlqPlan(queue.definition), sink: queue },
    }),
  ]);
}

test('a dead letter for which its table has no column fails the run: it would be lost', async () => {
  using table = sqliteTable('CREATE TABLE t (a, c)');
  const { invocations } = await run(rowWith(table.sink()));
  expect(invocations[0]?.error).toMatchObject({
    code: 'dead_letters_left_out',
    message: expect.stringContaining('1 of 1 dead letters') as string,
  });
  expect(invocations[0]?.balance.dead_lettered).toBe(0);
});

test('a dead letter is kept by a table that has a column for it', async () => {
  using table = sqliteTable('CREATE TABLE t (payload, reason)');
  const { invocations } = await run(rowWith(table.sink()));
  expect(invocations[0]).toMatchObject({
    error: null,
    balance: { read: 2, written: 1, dead_lettered: 1 },
  });
  expect(table.query('SELECT * FROM t')).toEqual([{ payload: '{"a":"two"}', reason: 'contract' }]);
});

/** The first dead letter lacks what later ones have. */
const growing = fakeSource([
  { records: [{ a: 'two' }], bookmark: 1 },
  {
    records: [{ a: 3 }],
    bookmark: 2,
    rejected: [
      { message: 'no JSON', payload: '{', input: 'f', at: { line: 7, byte: 9 }, index: 1 },
    ],
  },
]);

function growingRow(queue: PlannedPart<SinkDefinition>) {
  return planOf([
    plannedRow(growing, fakeSink().definition, {
      blocks: { contract },
      dlq: { ...dlqPlan(queue.definition), sink: queue },
    }),
  ]);
}

test('a table that is made for dead letters has columns for all that they may have', async () => {
  using table = sqliteTable();
  const { invocations } = await run(growingRow(table.sink({ create_table: true })));
  expect(invocations[0]).toMatchObject({ error: null, balance: { dead_lettered: 2 } });
  expect(
    table.query('SELECT reason, record_number, position, payload FROM t ORDER BY record_number'),
  ).toEqual([
    { reason: 'contract', record_number: 1, position: null, payload: '{"a":"two"}' },
    {
      reason: 'parse',
      record_number: 3,
      position: '{"input":"f","line":7,"byte":9,"page":2}',
      payload: expect.stringContaining('{') as string,
    },
  ]);
});

test('a CSV file of dead letters has columns for all that they may have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-dead-letters-'));
  const path = join(folder, 'dead.csv');
  try {
    const queue = { ...part(csvSink), parsed: csvSink.config.parse({ path }) };
    const { invocations } = await run(growingRow(queue));
    expect(invocations[0]?.error).toBeNull();
    const [header = '', first = '', second = ''] = readFileSync(path, 'utf8').split('\n');
    expect(header.split(',').slice(0, 3)).toEqual(['error', 'reason', 'payload']);
    expect(header).toContain(',position,payload_base64,parent_key');
    expect(first).toContain('contract');
    expect(second).toContain('""line"":7');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
