import { expect, test } from 'vitest';
import { pairRecords } from '../../console/src/author/pair-records.ts';

const record = (id: number, name = 'x') => ({ id, name, country: 'DE' });

test('records that a stage only changes belong together, one by one', () => {
  expect(pairRecords([record(1), record(2)], [record(9), record(2)])).toEqual([
    { before: record(1), after: record(9), isGone: false },
    { before: record(2), after: record(2), isGone: false },
  ]);
});

test('what is left behind stands where it was', () => {
  const before = [record(1), record(2), record(3)];
  expect(pairRecords(before, [record(1), record(3, 'y')])).toEqual([
    { before: record(1), after: record(1), isGone: false },
    { before: record(2), isGone: true },
    { before: record(3), after: record(3, 'y'), isGone: false },
  ]);
});

test('what a stage makes is new, also when nothing is alike', () => {
  expect(pairRecords([{ items: [1, 2] }], [{ item: 1 }, { item: 2 }])).toEqual([
    { before: { items: [1, 2] }, isGone: true },
    { after: { item: 1 }, isGone: false },
    { after: { item: 2 }, isGone: false },
  ]);
  expect(pairRecords([], [record(1)])).toEqual([{ after: record(1), isGone: false }]);
});
