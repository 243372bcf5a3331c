import { expect, test } from 'vitest';
import { Debounce } from './debounce.ts';

function atTime() {
  const clock = { ms: 0, elapsedMs: () => clock.ms };
  const debounce = new Debounce(clock);
  let tried = 0;
  const pass = (attempt: () => Promise<string> = async () => `run ${tried}`) =>
    debounce.pass(
      1000,
      () => {
        tried += 1;
        return attempt();
      },
      (result) => result !== 'known',
    );
  return { clock, pass, tried: () => tried };
}

test('one event passes, and the next when the window is over', async () => {
  const { clock, pass } = atTime();
  expect(await pass()).toBe('run 1');
  clock.ms = 999;
  expect(await pass()).toBeUndefined();
  clock.ms = 1000;
  expect(await pass()).toBe('run 2');
  clock.ms = 1999;
  expect(await pass()).toBeUndefined();
});

test('an event that failed or was known begins no window', async () => {
  const { pass } = atTime();
  await expect(pass(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(await pass(async () => 'known')).toBe('known');
  expect(await pass()).toBe('run 3');
  expect(await pass()).toBeUndefined();
});

test('events that come while one is tried wait for it, and are tried when it fails', async () => {
  const { pass, tried } = atTime();
  const first = Promise.withResolvers<string>();
  const passing = [pass(() => first.promise), pass(), pass()];
  first.reject(new Error('full'));
  expect(await Promise.allSettled(passing)).toMatchObject([
    { status: 'rejected' },
    { value: 'run 2' },
    { value: undefined },
  ]);
  expect(tried()).toBe(2);
});

test('without a window every event passes', async () => {
  const debounce = new Debounce({ elapsedMs: () => 0 });
  const results = [1, 2].map((n) =>
    debounce.pass(
      0,
      async () => n,
      () => true,
    ),
  );
  expect(await Promise.all(results)).toEqual([1, 2]);
});
