import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('a sleep of weeks is no sleep of a moment', async () => {
  let awake = false;
  const weeks = 60 * 86_400_000;
  const sleeping = systemClock.sleep(weeks).then(() => (awake = true));
  await vi.advanceTimersByTimeAsync(weeks - 1);
  expect(awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await sleeping;
  expect(awake).toBe(true);
});

test('a sleep ends when its signal fires, and does not begin when it has fired', async () => {
  const stop = new AbortController();
  const sleeping = systemClock.sleep(1000, stop.signal);
  stop.abort();
  await sleeping;
  await systemClock.sleep(1000, stop.signal);
  expect(vi.getTimerCount()).toBe(0);
});
