import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

test.each<[string, string[], string | undefined]>([
  ['qury', ['query', 'path'], 'query'],
  ['table', ['schema', 'table_name'], 'table_name'],
  ['table', ['table_name', 'table_owner'], undefined],
  ['ta', ['table_name'], undefined],
  ['zzz', ['query'], undefined],
])('of %s with %j the nearest is %s', (word, candidates, meant) => {
  expect(nearest(word, candidates)).toBe(meant);
});
