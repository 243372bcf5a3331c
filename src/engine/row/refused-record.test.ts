import { expect, test } from 'vitest';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import { fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';

const PAGES = [
  { records: [{ a: 1 }, { a: 2 }] },
  { records: [{ a: 3 }, { a: 4 }, { a: -5 }, { a: 6 }] },
];
const BATCHES_OF_TWO = {
  enabled: true,
  controller: 'aimd',
  min: 2,
  max: 2,
  increase_step: 1,
  decrease_factor: 0.5,
  cooldown_batches: 5,
  latency_window: 10,
  error_threshold: 0.01,
  respect_source_max: true,
  log_every: 50,
} as const;

test.each([undefined, BATCHES_OF_TWO])(
  'a record that the database refuses is named by its place in the source, with batches %j',
  async (adaptiveBatch) => {
    using table = sqliteTable('CREATE TABLE t (a CHECK (a > 0))');
    const sink = table.sink();
    const row = plannedRow(fakeSource(PAGES), sink.definition, { sink, adaptiveBatch });
    const { invocations } = await run(planOf([row]));
    expect(invocations[0]?.error).toMatchObject({
      code: 'connector_data',
      message:
        'sink `sqlite`: writing to `t`: CHECK constraint failed: a > 0 (record 5 of the source)',
    });
  },
);
