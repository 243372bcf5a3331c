import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

test.each<[string, string[], string | undefined]>([
  ['qury', ['query', 'path'], 'query'],
  ['table', ['schema', 'table_name'], 'table_name'],
  ['table', ['table_name', 'table_owner'], undefined],
  ['ta', ['table_name'], undefined],
  ['table_name', ['database', 'table'], 'table'],
  ['url', ['connection_url', 'query'], 'connection_url'],
  ['url', ['connection_url', 'token_url'], undefined],
  ['zzz', ['query'], undefined],
])('of %s with %j the nearest is %s', (word, candidates, meant) => {
  expect(nearest(word, candidates)).toBe(meant);
});
