import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnsOf } from '../../test/fakes/columns.ts';
import { messageOf } from '../lib/errors.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import type { Columns } from './columns.ts';
import { Page } from './page.ts';
import { parseType } from './type-text.ts';
import { typedPages } from './typed-pages.ts';

const TYPES = [
  'utf8',
  'bool',
  'int8',
  'int32',
  'int64',
  'uint16',
  'uint64',
  'float64',
  'decimal',
  'decimal(5, 2)',
  'decimal(38, 0)',
  'date',
  'timestamp(us)',
  'timestamp(us, UTC)',
  'time',
  'uuid',
  'json',
  'list(int32)',
];

const TEXTS = [
  '',
  ' ',
  'a"b',
  'é\n',
  '2024-02-29 07:08:09',
  ...`x " true false T 0 -0 007 +7 127 128 -128 -1 999 9999 65536 2147483648 999999999
    123456789012345 9007199254740993 9223372036854775807 18446744073709551615 1.0 1.10 -0.0 1. .5
    0.0000001 -12.5 999.99 1000.00 1.234 1e3 1e-7 1e22 NaN 2024-02-29 2023-02-29 2024-13-01
    2024-1-01 0000-01-01 1900-02-29 2024-02-29T07:08:09 2024-02-29T07:08:09. 2024-02-29T24:00:00
    2024-02-29T07:08:09.123456789 2024-02-29T07:08:09Z 2024-02-29T07:08:60Z 07:08:09
    2024-02-29T07:08:09.5z 2024-02-29T07:08:09+02:00 [1,2] {"a":1.5} null [1e22]
    0189c0de-0000-7000-8000-000000000000 0189C0DE-0000-7000-8000-000000000000`.split(/\s+/),
];
const NUMBERS: JsonValue[] = [0, 1.5, -7, 128, 1e-9, 123456.789, 2n ** 60n, 2n ** 64n];
const VALUES: JsonValue[] = [...NUMBERS, true, false, [1, 2], ['x'], {}, { a: [] }];

async function outcomeOf(page: Page, type: string, nullable: boolean, fromText: boolean) {
  const parsed = parseType(type);
  if (parsed === undefined) throw new Error(type);
  const pages = (async function* () {
    yield page;
  })();
  const fields = [{ name: 'b', type: parsed, nullable }];
  try {
    for await (const made of typedPages(pages, { fields }, { name: 'f', fromText }))
      return made.records().map((record) => stringifyJson(record));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

type Values = readonly (JsonValue | undefined)[];

function records(values: Values): JsonObject[] {
  return values.map((b, index) => ({ a: index, ...(b === undefined ? {} : { b }), c: 'c' }));
}

function columnsWith(values: Values): Columns {
  return columnsOf(
    ['a', 'b', 'c'],
    values.map((b, index) => [index, b, 'c']),
  );
}

describe('typed columns', () => {
  test.each(TYPES)('%s: hold each value as a typed record holds it', async (type) => {
    for (const [values, fromText] of [
      [TEXTS, true],
      [[...TEXTS, ...VALUES], false],
    ] as const)
      for (const value of values) {
        const expected = await outcomeOf(Page.ofRecords(records([value])), type, true, fromText);
        const found = await outcomeOf(Page.ofColumns(columnsWith([value])), type, true, fromText);
        expect([value, found]).toEqual([value, expected]);
      }
  });

  test.each(TYPES)('%s: hold what typed records hold, or fail like them', async (type) => {
    const text = fc.oneof(fc.constantFrom(...TEXTS), fc.constantFrom(...TEXTS), fc.string());
    const value = (fromText: boolean) =>
      fc.oneof(
        { weight: 8, arbitrary: fromText ? text : fc.oneof(text, fc.constantFrom(...VALUES)) },
        { weight: 1, arbitrary: fc.constantFrom(null, undefined) },
      );
    const page = fc
      .boolean()
      .chain((fromText) =>
        fc.tuple(fc.constant(fromText), fc.array(value(fromText), { maxLength: 4 })),
      );
    await fc.assert(
      fc.asyncProperty(page, fc.boolean(), async ([fromText, values], nullable) => {
        const expected = await outcomeOf(Page.ofRecords(records(values)), type, nullable, fromText);
        const columns = columnsWith(values);
        const found = await outcomeOf(Page.ofColumns(columns), type, nullable, fromText);
        expect(found).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    ['int64', '12'],
    ['float64', '-1.5'],
    ['bool', 'true'],
    ['decimal(9, 2)', '1.10'],
    ['date', '2024-02-29'],
    ['timestamp(us, UTC)', '2024-02-29T07:08:09.5Z'],
  ])('%s: stay columns, also where cells are empty', async (type, text) => {
    const parsed = parseType(type);
    if (parsed === undefined) throw new Error(type);
    const columns = columnsWith([text, '', text, '']);
    const size = columns.cells.length;
    const pages = (async function* () {
      yield Page.ofColumns(columns, { bookmark: 5 });
    })();
    const fields = [{ name: 'b', type: parsed, nullable: true }];
    for await (const page of typedPages(pages, { fields }, { name: 'f', fromText: true })) {
      expect([page.form.form, page.bookmark, page.schema?.fields]).toEqual(['columns', 5, fields]);
      expect(columns.cells.length - size).toBe('null'.length);
      expect(page.records()[1]).toEqual({ a: 1, b: null, c: 'c' });
    }
  });
});
