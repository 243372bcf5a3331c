import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  jsonEqual,
  parseData,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from './json.ts';
import {
  forgetSpelling,
  keepSpelling,
  keepSpellings,
  rememberSpelling,
  spellingOf,
} from './number-spelling.ts';

const number = fc.oneof(
  fc.constantFrom('0', '-0', '1', '1.0', '-1.10', '0.0', '-0.0', '1e5', '1E5', '1e+5', '1E-7'),
  fc.constantFrom('0.0000001', '0.000001', '1e-7', '1e22', '1E22', '100000000000000000000'),
  fc.constantFrom('0.1234567890123456789', '12345678901234567890.5', '9007199254740993', '5e-324'),
  fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,2})?$/),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);
const text = fc.constantFrom('"1.0"', '"x"', '"2024-05-06T07:08:09.500Z"', 'true', 'null');
const { value } = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, number, text, tie('object'), tie('list')),
  object: fc
    .uniqueArray(fc.constantFrom('a', 'b', 'é', '__proto__', ''), { maxLength: 4 })
    .chain((keys) => fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), tie('value')))))
    .map((fields) => `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${one}`).join(',')}}`),
  list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
}));

describe('numbers of data', () => {
  it('are written as they were read, whatever holds them', () => {
    fc.assert(
      fc.property(value, (json) => {
        const held = `{"v":${json}}`;
        expect(stringifyJson(parseData(held))).toBe(held);
        expect(jsonEqual(parseData(held), parseJson(held))).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it('are found between white space, and without it', () => {
    for (const json of ['{"a": 1.0 }', '{"a":\t1.10\n,"b":[ 2.0]}', '[1,-0]'])
      expect(stringifyJson(parseData(json))).toBe(json.replaceAll(/\s/g, ''));
  });

  it('are ordinary numbers, and copies of their record still know them', () => {
    const record = parseData('{"price":1.10,"n":2.0,"inside":{"x":[3.0]}}') as JsonObject;
    expect(Object.keys(record)).toEqual(['price', 'n', 'inside']);
    expect(record['price']).toBe(1.1);
    expect(stringifyJson({ ...record, more: 1 })).toBe(
      '{"price":1.10,"n":2.0,"inside":{"x":[3.0]},"more":1}',
    );
    expect(stringifyJson({ again: record['inside'] ?? null })).toBe('{"again":{"x":[3.0]}}');
    expect(spellingOf(record, 'price')).toBe('1.10');
  });

  it('are forgotten when another value takes their place', () => {
    const record = parseData('{"a":1.0,"b":2.0}') as JsonObject;
    const copy = { ...record };
    record['a'] = 5;
    expect(stringifyJson(record)).toBe('{"a":5,"b":2.0}');
    record['a'] = 1;
    forgetSpelling(record, 'a');
    expect(stringifyJson(record)).toBe('{"a":1,"b":2.0}');
    expect(stringifyJson(copy)).toBe('{"a":1.0,"b":2.0}');
  });

  it('may be many in one list or object', () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `${index % 10}.0`);
    const list = `[${many.join(',')}]`;
    expect(stringifyJson(parseData(list))).toBe(list);
    const object = `{${many.map((one, index) => `"k${index}":${one}`).join(',')}}`;
    expect(stringifyJson(parseData(object))).toBe(object);
    const collected: number[] = [];
    for (const [index, one] of many.entries()) {
      collected.push(Number(one));
      rememberSpelling(collected, String(index), one);
    }
    expect(stringifyJson(collected)).toBe(list);
  });

  it('of a copied list are not those that the other list is given later', () => {
    const list = parseData('[1.0,2]') as JsonValue[];
    const copy = [...list];
    keepSpellings(list, copy);
    rememberSpelling(list, '1', '2.0');
    expect(stringifyJson(list)).toBe('[1.0,2.0]');
    expect(stringifyJson(copy)).toBe('[1.0,2]');
    rememberSpelling(copy, '1', '2e0');
    expect(stringifyJson(list)).toBe('[1.0,2.0]');
  });

  it('can be taken along to another name', () => {
    const record = parseData('{"a":1.0}') as JsonObject;
    const renamed: JsonObject = { z: record['a'] ?? null };
    keepSpelling(record, 'a', renamed, 'z');
    expect(stringifyJson(renamed)).toBe('{"z":1.0}');
  });
});
