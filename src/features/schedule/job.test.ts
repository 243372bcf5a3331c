import { expect, test } from 'vitest';
import { fakeSink, fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { scheduleSchema } from '../../blocks/schedule/schema.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { createJob } from './job.ts';

const spec = scheduleSchema.parse({ cron: '0 3 * * *', timezone: 'Asia/Tokyo' });

function ended(...rows: readonly (readonly [id: string, code: string])[]): RunOutcome {
  const invocations = rows.map(([row_id, code]) => ({
    row_id,
    error: { code, kind: 'Custom', message: code },
  }));
  return {
    pipeline: 'test',
    status: 'failed',
    started_at: '',
    finished_at: '',
    records_written: 0,
    invocations,
    error: null,
  } as never;
}

test('a run is told its tick in the zone of the schedule', async () => {
  const asked: unknown[] = [];
  const execute = (options: unknown): Promise<RunOutcome> => {
    asked.push(options);
    return Promise.resolve(ended());
  };
  const job = createJob({ plan: planOf([]), spec, execute });
  const [stop, kill] = [new AbortController().signal, new AbortController().signal];
  const tick = new Date('2026-01-31T18:00:00Z');
  await job.run(tick, { stop, kill }, () => {});
  expect(asked).toEqual([{ clock: tick, zone: 'Asia/Tokyo', signal: stop, killSignal: kill }]);
  expect(job.cron.next(new Date('2026-01-31T12:00:00Z'))).toEqual(tick);
});

test('the cooldown is the longest of those rows whose circuit is open, a chunk of one included', () => {
  const row = (id: string, cooldownSecs: number) =>
    plannedRow(fakeSource([]), fakeSink().definition, {
      id,
      blocks: { resilience: { breaker: { consecutiveFailures: 1, cooldownSecs } } },
    });
  const job = createJob({
    plan: planOf([row('a', 60), row('b', 90), row('c', 300)]),
    spec,
    execute: () => Promise.resolve(ended()),
  });
  expect(
    job.cooldownMs(
      ended(['a', 'circuit_open'], ['b::partition::7', 'circuit_open'], ['c', 'internal']),
    ),
  ).toBe(90_000);
  expect(job.cooldownMs(ended(['c', 'internal']))).toBe(0);
});
