import { describe, expect, it } from 'vitest';
import { canonicalJson, jsonEqual, parseJson, stringifyJson } from './json.ts';

describe('JSON text', () => {
  it.each([
    '9007199254740993',
    '-9223372036854775808',
    '18446744073709551615',
    '[1,12345678901234567890,"12345678901234567890"]',
  ])('keeps every digit of %s', (text) => {
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it('refuses a number that no double can hold instead of making it null', () => {
    expect(() => parseJson('{"a":1e400}')).toThrow('1e400 is beyond the range');
    expect(parseJson('1e100')).toBe(1e100);
    expect(parseJson('"1e400"')).toBe('1e400');
  });
});

describe('equality', () => {
  it('compares numbers by value, whatever holds them, and ignores the order of keys', () => {
    expect(jsonEqual(5n, 5)).toBe(true);
    expect(jsonEqual({ a: 1, b: [2n] }, { b: [2], a: 1 })).toBe(true);
    expect(jsonEqual({ a: 1 }, { a: 1, b: null })).toBe(false);
    expect(canonicalJson({ b: 1, a: [{ d: 1, c: 2 }] })).toBe('{"a":[{"c":2,"d":1}],"b":1}');
  });
});
