import { expect, test } from 'vitest';
import { parseWhole, wholeNumber } from './whole-number.ts';

test.each([
  [7, 7n],
  [-7n, -7n],
  ['9223372036854775808', 9223372036854775808n],
  ['-3', -3n],
  ['+3', 3n],
  [2 ** 53, undefined],
  [1.5, undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['', undefined],
  [' 1', undefined],
  [null, undefined],
  [true, undefined],
])('%s is read exactly or not at all', (value, whole) => {
  expect(wholeNumber(value)).toBe(whole);
});

test('text without end is no number', () => {
  expect(parseWhole('9'.repeat(10_000))).toBeUndefined();
});
