import { expect, test } from 'vitest';
import { OutputClaims } from './output-claims.ts';

test('a file is replaced once in a run, however its path is written, unless it is given back', () => {
  const claims = new OutputClaims('/work');
  const release = claims.claim('out/a.jsonl', 'first');
  claims.claim('out/b.jsonl', 'second');
  expect(() => claims.claim('/work/out/./a.jsonl', 'third')).toThrow('which row `first` writes in this run');
  release();
  claims.claim('out/a.jsonl', 'third');
});
