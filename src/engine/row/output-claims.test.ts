import { expect, test } from 'vitest';
import { OutputClaims } from './output-claims.ts';

test('a file is replaced once in a run, however its path is written, unless it is given back', () => {
  const claims = new OutputClaims('/work');
  const release = claims.claim({ output: 'out/a.jsonl' }, 'first');
  claims.claim({ output: 'out/b.jsonl' }, 'second');
  expect(() => claims.claim({ output: '/work/out/./a.jsonl' }, 'third')).toThrow(
    'which row `first` writes in this run',
  );
  release();
  claims.claim({ output: 'out/a.jsonl' }, 'third');
});

test('a table is replaced once in a run, and so is each part of it', () => {
  const claims = new OutputClaims('/work');
  claims.claim({ output: 'sqlite://shop.db?table=t' }, 'first');
  expect(() => claims.claim({ output: 'sqlite:///work/shop.db?table=t' }, 'second')).toThrow(
    'which row `first` writes in this run',
  );
  const output = 'postgres://h/shop?table=t';
  claims.claim({ output, part: 'day from 1 to 2' }, 'third');
  claims.claim({ output, part: 'day from 2 to 3' }, 'fourth');
  expect(() => claims.claim({ output, part: 'day from 2 to 3' }, 'fifth')).toThrow(
    'which row `fourth` writes in this run',
  );
  expect(() => claims.claim({ output }, 'sixth')).toThrow('which row `third` writes in this run');
});
