import { expect, it } from 'vitest';
import { memo } from './memo.ts';

it('works out a value once, and starts anew when it holds as many as it may', () => {
  const asked: string[] = [];
  const shout = memo((word) => {
    asked.push(word);
    return word.toUpperCase();
  }, 2);
  expect(['a', 'a', 'b', 'a', 'c', 'a'].map(shout)).toEqual(['A', 'A', 'B', 'A', 'C', 'A']);
  expect(asked).toEqual(['a', 'b', 'c', 'a']);
});
