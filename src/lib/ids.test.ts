import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { uuidIds } from './ids.ts';

test('ids are UUIDs of version 7, all different, and in the order in which they were made', () => {
  const ids = Array.from({ length: 10_000 }, () => uuidIds.next());
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
});

test('an id tells when it was made', () => {
  const before = Date.now();
  const made = Number.parseInt(uuidIds.next().replaceAll('-', '').slice(0, 12), 16);
  expect(made).toBeGreaterThanOrEqual(before);
  expect(made).toBeLessThanOrEqual(Date.now() + 1000);
});
