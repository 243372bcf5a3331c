import { expect, test } from 'vitest';
import { bookmarkRangeOf, isBeyond } from './bookmark-range.ts';

test('a value is beyond another by number, by moment or by text', () => {
  expect([
    isBeyond(3, 2, 'f'),
    isBeyond(2, 2, 'f'),
    isBeyond('10', 9, 'f'),
    isBeyond(9007199254740993n, '9007199254740992', 'f'),
  ]).toEqual([true, false, true, true]);
  expect(isBeyond('2026-01-01T01:00:00+01:00', '2026-01-01T00:30:00Z', 'f')).toBe(false);
  expect([isBeyond('b', 'a', 'f'), isBeyond('2026-01-01', '2026-01-02', 'f')]).toEqual([
    true,
    false,
  ]);
  expect(() => isBeyond(undefined, 1, 'updated_at')).toThrow('`updated_at` is missing');
  expect(() => isBeyond(true, 1, 'f')).toThrow('cannot be compared');
});

test('a range of bookmarks reads its values as JSON, or else as text', () => {
  const texts = { fromBookmark: '{"id":7}', toBookmark: '2026-01-31', bookmarkField: 'updated_at' };
  expect(bookmarkRangeOf(texts, 'orders')).toMatchObject({
    from: { id: 7 },
    to: { value: '2026-01-31', field: ['updated_at'] },
    descriptor: 'bookmark|{"id":7}|2026-01-31|updated_at|orders',
  });
  const nothing = { fromBookmark: undefined, toBookmark: undefined, bookmarkField: undefined };
  expect(bookmarkRangeOf(nothing, 'orders')).toBeUndefined();
  expect(() => bookmarkRangeOf({ ...nothing, toBookmark: '7' }, 'orders')).toThrow('go together');
  expect(() => bookmarkRangeOf({ ...nothing, bookmarkField: 'id' }, 'orders')).toThrow(
    'has no effect without',
  );
});
