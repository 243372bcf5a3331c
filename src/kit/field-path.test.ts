import { describe, expect, it } from 'vitest';
import { assert } from '../lib/errors.ts';
import { parseJson, type JsonValue } from '../lib/text/json.ts';
import { parseFieldPath, readerOf } from './field-path.ts';

describe('a field path', () => {
  it.each([
    ['a', ['a']],
    ['a.b', ['a', 'b']],
    ['$.a', ['a']],
    ['$.a.b', ['a', 'b']],
    ["$['a key'].b", ['a key', 'b']],
    ['$["a.b"]["c]"]', ['a.b', 'c]']],
    ['$.größe', ['größe']],
  ])('%s has the steps %j', (text, steps) => {
    expect(parseFieldPath(text)).toEqual(steps);
  });

  it.each([
    '',
    '$',
    '$.',
    '$a',
    '$.a.',
    '$..a',
    'a..b',
    '.a',
    'a[0]',
    '$.a[0]',
    '$[a]',
    '$.a[*]',
    '$.*',
    '*',
    "$['a",
    '$["a\']',
    "$['']",
    '$[?(@.a)]',
    '$.a b',
  ])('%j is refused with a sentence', (text) => {
    expect(parseFieldPath(text)).toMatchObject({ error: expect.any(String) });
  });

  it.each<[string, JsonValue, JsonValue | undefined]>([
    ['a', { a: null }, null],
    ['a', {}, undefined],
    ['a', [1], undefined],
    ['a', 'text', undefined],
    ['a.b', { a: { b: 1 } }, 1],
    ['a.b', { a: [{ b: 1 }] }, undefined],
    ['a.b', { a: null }, undefined],
    ['toString', {}, undefined],
    ['a.toString', { a: {} }, undefined],
    ['__proto__.x', {}, undefined],
    ['__proto__.x', parseJson('{"__proto__":{"x":1}}'), 1],
  ])('%s read from %j gives %j', (text, record, value) => {
    const path = parseFieldPath(text);
    assert(!('error' in path), 'the path is good');
    expect(readerOf(path)(record)).toEqual(value);
  });
});
