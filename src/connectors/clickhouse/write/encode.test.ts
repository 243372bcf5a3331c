import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/text/json.ts';
import { encoderOf } from './encode.ts';

describe('a column', () => {
  it.each<[type: string, value: JsonValue, text: string]>([
    ['DateTime64(3)', 1_700_000_000.123, '"2023-11-14T22:13:20.123Z"'],
    ['DateTime64(6)', 1_700_000_000.654321, '"2023-11-14T22:13:20.654321Z"'],
    ['DateTime64(3)', -1.25, '"1969-12-31T23:59:58.75Z"'],
    ['DateTime64(3)', -0.1, '"1969-12-31T23:59:59.9Z"'],
    ['DateTime64(9)', 1e-7, '"1970-01-01T00:00:00.0000001Z"'],
    ['DateTime64(3)', 1_700_000_000, '"2023-11-14T22:13:20Z"'],
    ['DateTime', 1_700_000_000.7, '"2023-11-14T22:13:20Z"'],
    ['Date', '2020-02-29', '"2020-02-29"'],
    ['Tuple(a Int8, b String)', { b: 'x', a: 1 }, '[1,"x"]'],
  ])('of %s is given %j as %s', (type, value, text) => {
    expect(encoderOf('c', type)(value)).toBe(text);
  });

  it.each<[type: string, value: JsonValue]>([
    ['DateTime64(3)', '2020-02-30'],
    ['DateTime64(3)', '2023-02-29 10:00:00'],
    ['DateTime', '2020-04-31T00:00:00Z'],
    ['Date', '2021-02-29'],
    ['Date', '2020-13-01'],
    ['Date32', '2020-01-32'],
    ['Tuple(a Int8, b String)', { a: 1, b: 'x', c: 2 }],
    ['Tuple(a Int8, b String)', { a: 1 }],
  ])('of %s is not given %j', (type, value) => {
    expect(() => encoderOf('c', type)(value)).toThrow('which cannot hold');
  });
});
