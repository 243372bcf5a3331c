import { expect, test } from 'vitest';
import { fromSqlite } from './sqlite-values.ts';

test.each([
  ['123', 123],
  ['1.10', 1.1],
  ['12345678901234567890', 12_345_678_901_234_567_890n],
  ['12345678901234567890.123456789', '12345678901234567890.123456789'],
  ['-0.12345678901234567890123', '-0.12345678901234567890123'],
])('the text %s is a number only where none of its digits is lost', (text, value) => {
  expect(fromSqlite(text, 'TEXT')).toBe(value);
});
