import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../lib/time/clock.ts';
import { withinGracePeriod, abortable } from './grace-period.ts';

const never = new Promise<never>(() => {});

/** A clock on which every sleep is over at once, and is counted. */
function countingClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return { ...systemClock, slept, sleep: (ms) => Promise.resolve(void slept.push(ms)) };
}

test('work is waited for as long as it is wanted', async () => {
  const clock = countingClock();
  expect(await abortable(Promise.resolve(7), new AbortController().signal, clock)).toEqual({
    value: 7,
  });
  await expect(
    abortable(Promise.reject(new Error('broken')), new AbortController().signal, clock),
  ).rejects.toThrow('broken');
  expect(clock.slept).toEqual([]);
});

test('work that does not settle after the signal is left behind when the grace period is over', async () => {
  const stop = new AbortController();
  const clock = countingClock();
  const waiting = abortable(never, stop.signal, clock);
  stop.abort();
  expect(await waiting).toBeUndefined();
  expect(clock.slept).toHaveLength(1);
});

test('what nobody wants is still heard when it comes at once, failures too', async () => {
  const clock = countingClock();
  expect(await withinGracePeriod(Promise.resolve('closed'), clock)).toEqual({ value: 'closed' });
  await expect(withinGracePeriod(Promise.reject(new Error('late')), clock)).rejects.toThrow('late');
  expect(await withinGracePeriod(never, clock)).toBeUndefined();
  expect(clock.slept).toHaveLength(1);
});
