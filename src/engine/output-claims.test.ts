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

test('a table is replaced once in a run, and so is each part of it', () => {
  const claims = new OutputClaims('/work');
  claims.claim('sqlite://shop.db?table=t', 'first');
  expect(() => claims.claim('sqlite:///work/shop.db?table=t', 'second')).toThrow('which row `first` writes in this run');
  claims.claim('postgres://h/shop?table=t, day from 1 to 2', 'third');
  claims.claim('postgres://h/shop?table=t, day from 2 to 3', 'fourth');
});
