import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/runs.ts';
import { Deadlines } from './deadlines.ts';

test('each happens at its time, in any order of being added; one that is taken back does not', async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const over: string[] = [];
  const add = (ms: number): ReturnType<Deadlines['add']> =>
    deadlines.add(ms, () => over.push(`${ms} at ${clock.elapsedMs()}`));
  add(300);
  add(100);
  const [taken, late] = [add(200), add(500)];
  deadlines.delete(taken);
  await clock.advance(99);
  expect(over).toEqual([]);
  await clock.advance(1);
  expect(over).toEqual(['100 at 100']);
  await clock.advance(250);
  expect(over).toEqual(['100 at 100', '300 at 300']);
  add(10);
  await clock.advance(1000);
  expect(over.slice(2)).toEqual(['10 at 360', '500 at 500']);
  deadlines.delete(late);
});

test('no timer is left when the last one is taken back, and the next has one again', async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const deadlines = new Deadlines({
    now: () => clock.now(),
    elapsedMs: () => clock.elapsedMs(),
    sleep: (ms, signal) => {
      if (signal !== undefined) signals.push(signal);
      return clock.sleep(ms, signal);
    },
  });
  const [first, second] = [deadlines.add(100, () => {}), deadlines.add(200, () => {})];
  deadlines.delete(first);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  deadlines.delete(second);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  let isOver = false;
  deadlines.add(50, () => (isOver = true));
  await clock.advance(50);
  expect(isOver).toBe(true);
});
