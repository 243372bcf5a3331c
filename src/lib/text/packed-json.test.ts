import { expect, test } from 'vitest';
import { documentText, isLiteral, JSON_NULL, withSourceText } from './json-literal.ts';
import { parseData, setField, stringifyJson, type JsonObject } from './json.ts';
import { keepNegativeZeros } from './number-spelling.ts';
import { needsPacking, packJson, packObject, unpackJson, unpackObject } from './packed-json.ts';

test('values come back with everything they remember', () => {
  const document = withSourceText({ b: 1, a: 2 }, '{"b": 1, "a": 2, "b": 1}');
  const values = [
    { id: 1n << 60n, none: null, json: JSON_NULL, doc: document },
    { __proto__x: 1, list: [withSourceText('x', ' "\\u0078"'), JSON_NULL] },
    parseData('{"n":1.10,"in":[{"x":2.0}]}'),
    JSON_NULL,
    null,
    'text',
  ];
  const [first, second, third, ...others] = unpackJson(packJson(values)) as JsonObject[];
  expect(first?.['id']).toBe(1n << 60n);
  expect(first?.['none']).toBeNull();
  expect(isLiteral(first?.['json'])).toBe(true);
  expect(documentText(first?.['doc'] ?? null)).toBe('{"b": 1, "a": 2, "b": 1}');
  const list = (second?.['list'] ?? []) as JsonObject[];
  expect(list.map(isLiteral)).toEqual([true, true]);
  expect(stringifyJson(third ?? null)).toBe('{"n":1.10,"in":[{"x":2.0}]}');
  expect(others.map((one) => (isLiteral(one) ? 'JSON null' : one))).toEqual([
    'JSON null',
    null,
    'text',
  ]);
});

test('numbers that JSON gives back as others are the same numbers', () => {
  const list = keepNegativeZeros([-0, 0, 1e300, 2n ** 60n]);
  const value: JsonObject = { big: 2 ** 60, list, text: '-0' };
  setField(value, 'zero', -0);
  expect(unpackJson(packJson([value]))).toEqual([value]);
  expect(unpackObject(parseData(packObject(value)))).toEqual(value);
  expect(packObject({ a: 1, b: ['x'] })).toBe('{"a":1,"b":["x"]}');
});

test('values that a structured clone keeps need no packing', () => {
  expect(needsPacking([{ a: [1, { b: null }] }, null, 5n])).toBe(false);
  expect(needsPacking([{ a: [1, { b: JSON_NULL }] }])).toBe(true);
  expect(needsPacking([{ a: withSourceText([1], '[1 ]') }])).toBe(true);
  expect(needsPacking([parseData('{"a":[1.0]}')])).toBe(true);
});
