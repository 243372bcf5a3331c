import { expect, test } from 'vitest';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import { dlqPlan, fakeSink, fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { contractSchema } from '../../blocks/contract/schema.ts';
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
