import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../test/fakes/columns.ts';
import { parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { constantColumn, hasCharacters, isExactInCells, readNumber, valuesOf } from './cells.ts';
import { readRecords } from './column-records.ts';
import { JSON_LINES } from './json-lines.ts';
import { Page } from './page.ts';

const json = fc
  .oneof(
    fc.jsonValue(),
    fc.string({ unit: 'binary' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }),
  )
  .map((value) => value as JsonValue)
  .filter(isExactInCells);

const table = fc
  .uniqueArray(
    fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('10', '9', '01', '__proto__')),
    { minLength: 1, maxLength: 4 },
  )
  .chain((names) =>
    fc.record({
      names: fc.constant(names),
      rows: fc.array(
        fc.array(fc.option(json, { nil: undefined }), {
          minLength: names.length,
          maxLength: names.length,
        }),
        { maxLength: 6 },
      ),
    }),
  );

function recordOf(names: readonly string[], values: readonly (JsonValue | undefined)[]): JsonValue {
  const fields = names.map((name, index): [string, JsonValue | undefined] => [name, values[index]]);
  return Object.fromEntries(
    fields.filter((field): field is [string, JsonValue] => field[1] !== undefined),
  );
}

describe('cells', () => {
  it('give back the values that were put into them', () => {
    fc.assert(
      fc.property(fc.array(json), (values) => {
        const columns = columnsOf(
          ['a'],
          values.map((value) => [value]),
        );
        const read = valuesOf(columns, columns.columns[0] ?? constantColumn(columns, null));
        expect(values.map((_, row) => read(row))).toEqual(values);
      }),
    );
  });

  it('make the records and the lines that objects of the same fields make', () => {
    fc.assert(
      fc.property(table, fc.nat(6), fc.nat(6), ({ names, rows }, from, to) => {
        const records = rows.map((values) => recordOf(names, values));
        const page = Page.ofColumns(columnsOf(names, rows)).slice(
          Math.min(from, rows.length),
          Math.max(from, to),
        );
        const wanted = records.slice(Math.min(from, rows.length), Math.max(from, to));
        expect(Buffer.from(page.block(JSON_LINES)).toString()).toBe(
          wanted.map((record) => `${stringifyJson(record)}\n`).join(''),
        );
        expect(page.records()).toEqual(JSON_LINES.decode(JSON_LINES.encode(wanted)));
      }),
    );
  });

  it('refuse numbers that change their type when they are read back', () => {
    const columns = columnsOf([], [[]]);
    for (const value of [1e16, -0, [{ a: -1e20 }]])
      expect(() => constantColumn(columns, value)).toThrow('would change its type');
  });

  it('read numbers to the last digit', () => {
    const plain = fc
      .tuple(fc.integer(), fc.nat(99_999_999))
      .map(([whole, part]) => `${whole}.${part}1`);
    fc.assert(
      fc.property(
        fc.oneof(
          plain,
          fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
          fc.maxSafeInteger().map(String),
        ),
        (text) => {
          const bytes = Buffer.from(` ${text} `);
          // What a double may not be exact for comes as a bigint.
          expect(readNumber(bytes, 1, bytes.length - 1)).toBe(parseJson(text));
        },
      ),
    );
  });

  it('count characters, not bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(12), fc.nat(12), (text, min, more) => {
        const bytes = Buffer.from(text);
        const { length } = Array.from(text);
        expect(hasCharacters(bytes, 0, bytes.length, { min, max: min + more })).toBe(
          length >= min && length <= min + more,
        );
      }),
    );
  });

  it('stay what they were when a page of them is changed', () => {
    const columns = columnsOf(
      ['a', 'b'],
      [
        [1, 'x'],
        [2, undefined],
      ],
    );
    columns.with('a', constantColumn(columns, 'new')).renamed(['c', 'd']).kept(Uint32Array.of(1));
    expect(readRecords(columns)).toEqual([{ a: 1, b: 'x' }, { a: 2 }]);
  });
});
