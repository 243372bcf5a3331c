import { expect, test } from 'vitest';
import { countedMetrics } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { Page } from '../../kit/page.ts';
import type { WorkedPage } from '../stages/page-work.ts';
import { ThreadBudget, threadsToSpare } from './budget.ts';
import { GrowingStagePool } from './stage-pool.ts';

test('a machine spares a thread for each processor but one, and none where there are as many runs as processors', () => {
  expect([1, 2, 3, 4, 64].map((cpus) => threadsToSpare(cpus))).toEqual([0, 1, 2, 3, 4]);
  expect([1, 2, 4].map((runs) => threadsToSpare(4, runs))).toEqual([3, 1, 0]);
});

test('a row whose threads cannot be started continues in one thread, and says so', async () => {
  const env = testEnv();
  const budget = new ThreadBudget(2);
  const worked = (page: Page): WorkedPage => ({
    page,
    filtered: 0,
    expanded: 0,
    transformed: page.count,
    dead: [],
  });
  const pool = new GrowingStagePool({
    setup: () => {
      throw new Error('no setup today');
    },
    work: async (page) => worked(page),
    schemaAfter: (schema) => schema,
    budget,
    metrics: countedMetrics(),
    row: 'orders',
    log: env.log,
  });
  const page = Page.ofRecords([1], { bytes: 20 * 1024 * 1024 });
  expect((await pool.work(page)).page).toBe(page);
  expect((await pool.work(page)).page).toBe(page);
  await pool.close();
  expect(env.lines.map(({ line }) => line)).toEqual([
    'WARN test: worker threads could not be started; the row continues in one thread row=orders reason="no setup today"',
  ]);
  expect(budget.take()).toBe(2);
});
