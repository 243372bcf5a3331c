import { expect, test } from 'vitest';
import { fits, isFull, pageBounds, PageFill } from './page-bounds.ts';

const bounds = pageBounds(3, 10);

test('a page takes at least one record, whatever its size', () => {
  const fill = new PageFill(bounds);
  expect(fill.isFull).toBe(false);
  expect(fill.add(100)).toBe(true);
  expect([fill.count, fill.bytes, fill.isFull]).toEqual([1, 100, true]);
  expect(fill.add(1)).toBe(false);
  fill.clear();
  expect(fill.add(1)).toBe(true);
});

test('a record of known size joins up to both bounds and not beyond', () => {
  expect(fits(bounds, 2, 4, 6)).toBe(true);
  expect(fits(bounds, 2, 4, 7)).toBe(false);
  expect(fits(bounds, 3, 4, 1)).toBe(false);
});

test('a page is complete once it has reached a bound', () => {
  expect([isFull(bounds, 2, 9), isFull(bounds, 3, 9), isFull(bounds, 2, 10)]).toEqual([
    false,
    true,
    true,
  ]);
  expect(isFull(bounds, 0, 10)).toBe(false);
  const fill = new PageFill(bounds);
  for (const size of [1, 1, 1]) fill.added(size);
  expect(fill.isFull).toBe(true);
});

test('without a batch size there is one page', () => {
  const whole = pageBounds(0, 10);
  expect([isFull(whole, 1e9, 1e12), fits(whole, 1e9, 1e12, 1e12)]).toEqual([false, true]);
});
