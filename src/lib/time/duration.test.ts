import { describe, expect, it } from 'vitest';
import { parseDuration, secondsOf } from './duration.ts';

describe('a duration', () => {
  it.each([
    ['45s', 45],
    ['30m', 1800],
    ['6h', 21_600],
    ['1.5d', 129_600],
    ['2w', 1_209_600],
    [' 10 s ', 10],
    ['90', 90],
    [0.5, 0.5],
    ['0d', 0],
  ])('%j is %d seconds', (text, seconds) => {
    const parsed = parseDuration(text);
    expect(parsed && secondsOf(parsed)).toBe(seconds);
  });

  it.each(['', 's', '-1d', '1y', '1d2h', '1 2s', 'soon', Infinity, '9'.repeat(400)])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('remembers whether a unit was written', () => {
    expect([parseDuration('7'), parseDuration('7s')]).toEqual([
      { amount: 7 },
      { amount: 7, unit: 's' },
    ]);
  });
});
