import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../lib/text/json.ts';
import { RunError } from '../../lib/errors.ts';
import { tupleExpansion, tupleId, type ValueLists } from './tuples.ts';

const list = (alias: string, ...values: JsonValue[]): ValueLists => ({
  alias,
  forEach: [],
  lists: new Map([[tupleId([], new Map()), values]]),
});
const expand = (found: Record<string, ValueLists>, collected: readonly string[] = []) => {
  const forEach = Object.keys(found).filter((id) => !collected.includes(id));
  return tupleExpansion({ id: 'row', forEach, collected }, new Map(Object.entries(found)));
};
const keys = (found: Record<string, ValueLists>) =>
  [...expand(found).iterations()].map(({ key }) => key);

describe('the tuples of a row', () => {
  test('are every combination in declared order, the last dimension changing fastest', () => {
    expect(keys({ a: list('x', 1, 2), b: list('y', 'p', true) })).toEqual([
      'x=1&y=p',
      'x=1&y=true',
      'x=2&y=p',
      'x=2&y=true',
    ]);
    const [first] = [...expand({ a: list('x', { deep: 1 }) }).iterations()];
    expect(first).toMatchObject({
      key: 'x={"deep":1}',
      keyPart: 'x=%7B%22deep%22:1%7D',
      parent: undefined,
      chunk: undefined,
    });
    expect(first?.records).toEqual(new Map([['a', { x: { deep: 1 } }]]));
  });

  test('are none where one dimension has no values, and the row is told which', () => {
    const none = expand({ a: list('x', 1), b: list('y') });
    expect([none.size, none.idle, [...none.iterations()]]).toEqual([0, '`b` listed no values', []]);
  });

  test('are the product of the model, each with a state key of its own', () => {
    const values = fc.uniqueArray(
      fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean()),
      { maxLength: 5, selector: String },
    );
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 4 }), (dimensions) => {
        const found = Object.fromEntries(
          dimensions.map((list_, index) => [`r${index}`, list(`a${index}`, ...list_)]),
        );
        const iterations = [...expand(found).iterations()];
        const model = dimensions.reduce<JsonValue[][]>(
          (tuples, one) => tuples.flatMap((tuple) => one.map((value) => [...tuple, value])),
          [[]],
        );
        expect(
          iterations.map(({ records }) =>
            dimensions.map(
              (_, index) => (records.get(`r${index}`) as { [key: string]: JsonValue })[`a${index}`],
            ),
          ),
        ).toEqual(model);
        expect(new Set(iterations.map(({ keyPart }) => keyPart)).size).toBe(model.length);
        expect(expand(found).size).toBe(model.length);
      }),
    );
  });

  test('beyond the limit are refused with the sizes, before there is any', () => {
    const many = list('x', ...Array.from({ length: 101 }, (_, index) => index));
    expect(() => expand({ a: many, b: many })).toThrow(
      /would run 10201 times: 101 of `a` × 101 of `b`; 10000 are possible/,
    );
    expect(
      expand({
        a: list('x', ...Array.from({ length: 100 }, (_, index) => index)),
        b: list('y', ...Array.from({ length: 100 }, (_, index) => index)),
      }).size,
    ).toBe(10_000);
  });

  test('that would share a state key are refused', () => {
    expect(() => expand({ a: list('x', 1, '1') })).toThrow(RunError);
  });

  test('get the list that was collected for them as one text, or an empty one', () => {
    const cities: ValueLists = {
      alias: 'names',
      forEach: ['a'],
      lists: new Map([['[{"x":1}]', ['Oslo', 2, null]]]),
    };
    const iterations = [...expand({ a: list('x', 1, 2), cities }, ['cities']).iterations()];
    expect(iterations.map(({ records }) => records.get('cities'))).toEqual([
      { names: 'Oslo,2,null' },
      { names: '' },
    ]);
    expect(iterations.map(({ key }) => key)).toEqual(['x=1', 'x=2']);
  });
});
