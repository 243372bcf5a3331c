import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hugeNumberIndex, jsonFaultIndex, placeIn } from './json-place.ts';

describe('the place where a text stops being JSON', () => {
  /** `^` stands before the character at fault. */
  it.each([
    '[1,^,2]',
    '[^,1]',
    '[1,^]',
    '["a"^ "b"]',
    '[^tru]',
    '[^truex]',
    '[^NaN]',
    '[^01]',
    '[^+1]',
    '[^1.]',
    '[^.5]',
    '[1^[',
    '{^1:2}',
    '{"a"^ 1}',
    '{"a":1,^}',
    '{"a":^}',
    '{"a":1^]',
    "{^'a':1}",
    '[^"\\x"]',
    '[^"a\tb"]',
    '[\n {"a": 1}\n ^{"a": 2}]',
    '{}^}',
    '1^ 2',
    '^\u00a01',
    '[1, 2^',
    '{"a": "b", ^"cut',
    ' ^',
    '^',
  ])('%s', (marked) => {
    // White space goes before the mark in texts for people.
    const text = marked.replace('^ ', ' ').replace('^', '');
    const index = marked.replace('^ ', ' ^').indexOf('^');
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(jsonFaultIndex(text)).toBe(index);
  });

  it('is the end of any text that is JSON, and of what is cut off between two values', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(jsonFaultIndex(text)).toBe(text.length);
        expect(jsonFaultIndex(`[${text},`)).toBe(text.length + 2);
      }),
    );
  });

  it('may lie deep, or behind a long text', () => {
    expect(jsonFaultIndex(`${'['.repeat(100_000)}!`)).toBe(100_000);
    expect(jsonFaultIndex(`["${'x\\n'.repeat(1_000_000)}",!`)).toBe(3_000_004);
  });

  it('is told by line and column', () => {
    expect(placeIn('a\r\nb\rc\nde', 8)).toEqual({ line: 4, column: 2 });
    expect(placeIn('', 0)).toEqual({ line: 1, column: 1 });
  });
});

it('finds the first number that is too large, and none in texts', () => {
  expect(hugeNumberIndex('{"1e400": [1e300, "1e400", -1e400, 1e400]}')).toBe(27);
});
