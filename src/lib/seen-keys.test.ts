import { expect, test } from 'vitest';
import { SeenKeys } from './seen-keys.ts';

test('a key that came before is known, until so many others came after it', () => {
  const seen = new SeenKeys(2);
  expect(seen.add('a')).toBe(false);
  expect(seen.add('a')).toBe(true);
  expect([seen.add('b'), seen.add('c'), seen.add('a'), seen.add('c')]).toEqual([
    false,
    false,
    false,
    true,
  ]);
});
