import { expect, test } from 'vitest';
import type { JsonValue } from '../../lib/text/json.ts';
import { newColumns } from './infer-columns.ts';

test('columns come in the order fields first appear, with the widest type of a field', () => {
  const records: JsonValue[] = [
    { a: 1, b: null, c: true, d: 'x', e: [1] },
    { a: 1.5, c: 2, d: { y: 1 }, f: null, e: 'text' },
    'not an object',
  ];
  expect(newColumns(records, undefined)).toEqual([
    { name: 'a', type: 'number' },
    { name: 'b', type: 'string' },
    { name: 'c', type: 'integer' },
    { name: 'd', type: 'object' },
    { name: 'e', type: 'array' },
    { name: 'f', type: 'string' },
  ]);
});

test('integers that fit no 64-bit column become text', () => {
  expect(
    newColumns([{ a: 2n ** 63n - 1n, b: 2n ** 63n, c: -(2n ** 63n) }], undefined).map(
      (column) => column.type,
    ),
  ).toEqual(['integer', 'string', 'integer']);
});

test('a column of whole numbers that a double rounds and of fractions is text', () => {
  const large = 2n ** 53n + 1n;
  const records: JsonValue[] = [
    { a: large, b: 2.5, c: large, d: 2n ** 54n, e: 1 },
    { a: 2.5, b: large, c: 1, d: 2.5, e: 2.5 },
  ];
  expect(newColumns(records, undefined).map((column) => column.type)).toEqual([
    'string',
    'string',
    'integer',
    'number',
    'number',
  ]);
});
