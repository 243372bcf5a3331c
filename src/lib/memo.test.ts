import { expect, it } from 'vitest';
import { memo, memoWhileItPays } from './memo.ts';

it('works out a value once, and starts anew when it holds as many as it may', () => {
  const asked: string[] = [];
  const shout = memo((word) => {
    asked.push(word);
    return word.toUpperCase();
  }, 2);
  expect(['a', 'a', 'b', 'a', 'c', 'a'].map(shout)).toEqual(['A', 'A', 'B', 'A', 'C', 'A']);
  expect(asked).toEqual(['a', 'b', 'c', 'a']);
});

it('stops remembering while values do not repeat, tries again later, and is right all the time', () => {
  let computed = 0;
  const double = memoWhileItPays((key: string) => {
    computed += 1;
    return key + key;
  });
  for (let i = 0; i < 40_000; i += 1) expect(double(`${i}`)).toBe(`${i}${i}`);
  expect(computed).toBe(40_000);
  for (let i = 0; i < 40_000; i += 1) expect(double(`${i % 10}`)).toBe(`${i % 10}${i % 10}`);
  expect(computed).toBeLessThan(80_000);
  const before = computed;
  for (let i = 0; i < 10_000; i += 1) double(`${i % 10}`);
  expect(computed).toBe(before);
});
