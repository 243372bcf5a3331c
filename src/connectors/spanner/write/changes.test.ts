import { expect, it } from 'vitest';
import { columnOf } from '../types/columns.ts';
import { inCommits, mutationsOf, refuseLarge, stepsOf } from './changes.ts';

const column = (name: string) =>
  columnOf({ name, type: 'INT64', nullable: true, isGenerated: false });
const [id, v] = [column('id'), column('v')];
const change = (rows: readonly (readonly number[])[], more: object = {}) => ({
  table: 't',
  writes: [{ columns: [id, v], rows }],
  mode: 'upsert' as const,
  finished: false,
  key: [id],
  deletes: [],
  ...more,
});
const many = (count: number) =>
  stepsOf(change(Array.from({ length: count }, (_, at) => [at, at]))).steps;

it('makes commits of as many rows and values as fit', () => {
  expect(inCommits(many(5), 2).map((part) => part.length)).toEqual([2, 2, 1]);
  expect(inCommits(many(70_000), 0).map((part) => part.length)).toEqual([30_000, 30_000, 10_000]);
  expect(inCommits([], 2)).toEqual([]);
  expect(() => refuseLarge(many(30_000))).not.toThrow();
  expect(() => refuseLarge(many(30_001))).toThrow('changes 60002 values');
});

it('deletes a row that is made anew in the same commit, right before it', () => {
  const { steps } = stepsOf(
    change(
      [
        [1, 1],
        [2, 2],
        [2, 3],
      ],
      { deletesBefore: [[2]], deletes: [[3]] },
    ),
  );
  const [first, second] = inCommits(steps, 1).map((part) => mutationsOf('t', part));
  const columns = ['id', 'v'];
  expect(first).toEqual([{ insert_or_update: { table: 't', columns, values: [['1', '1']] } }]);
  expect(second).toEqual([
    { delete: { table: 't', key_set: { keys: [['2']] } } },
    { insert_or_update: { table: 't', columns, values: [['2', '2']] } },
  ]);
  expect(mutationsOf('t', steps).map((one) => Object.keys(one)[0])).toEqual([
    'insert_or_update',
    'delete',
    'insert_or_update',
    'delete',
  ]);
});
