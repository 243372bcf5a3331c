import { expect, it } from 'vitest';
import { lineDiff } from './line-diff.ts';

const lines = (text: string): string[] => text.split('');

it('shows lines that are gone and new ones, with two around them', () => {
  expect(lineDiff(lines('abcdefg'), lines('abcXefg'))).toEqual([
    '  b',
    '  c',
    '- d',
    '+ X',
    '  e',
    '  f',
  ]);
  expect(lineDiff(lines('abc'), lines('abc'))).toEqual([]);
  expect(lineDiff([], lines('ab'))).toEqual(['+ a', '+ b']);
  expect(lineDiff(lines('ab'), [])).toEqual(['- a', '- b']);
});

it('keeps what is common to both between two changes, and leaves out what is far from them', () => {
  expect(lineDiff(lines('a12345678b'), lines('A12345678B'))).toEqual([
    '- a',
    '+ A',
    '  1',
    '  2',
    '…',
    '  7',
    '  8',
    '- b',
    '+ B',
  ]);
});
