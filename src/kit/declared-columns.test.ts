import { describe, expect, test } from 'vitest';
import { check } from './schema.ts';
import { declaredColumns } from './declared-columns.ts';
import { typedPages } from './typed-pages.ts';
import { Page } from './page.ts';
import { schemaText } from './type-text.ts';
import { valueConverter } from './typed-conversion.ts';
import { parseType } from './type-text.ts';
import type { RecordField, RecordType } from './record-schema.ts';
import { stringifyJson, type JsonValue } from '../lib/text/json.ts';

function typeOf(text: string): RecordType {
  const type = parseType(text);
  if (type === undefined) throw new Error(text);
  return type;
}

describe('the config', () => {
  test('names types by field, or lists them', () => {
    for (const written of [
      { id: 'int64', price: 'decimal(12, 2)' },
      [
        { name: 'id', type: 'int64' },
        { name: 'price', type: 'decimal(12, 2)' },
      ],
    ]) {
      const checked = check(declaredColumns(), written);
      const schema = checked.ok ? checked.value : undefined;
      expect(schema && schemaText(schema)).toBe('id: int64, price: decimal(12, 2), …');
    }
    for (const nothing of [undefined, null]) {
      const checked = check(declaredColumns(), nothing);
      expect(checked.ok && checked.value).toBeUndefined();
    }
  });

  test('an unknown type is refused with those there are', () => {
    const checked = check(declaredColumns(), { id: 'integer' });
    expect(stringifyJson(checked as unknown as JsonValue)).toContain('int8 to int64');
    expect(checked.ok).toBe(false);
  });
});

describe('a text of a declared type', () => {
  test.each<[string, [string, JsonValue][], string[]]>([
    [
      'utf8',
      [
        ['', ''],
        ['1.0', '1.0'],
      ],
      [],
    ],
    [
      'bool',
      [
        ['true', true],
        ['F', false],
        ['', null],
      ],
      ['yes', '2'],
    ],
    [
      'int8',
      [
        ['-128', -128],
        ['+7', 7],
        ['007', 7],
      ],
      ['128', '1.0', ' 1', '1e2'],
    ],
    ['int64', [['9007199254740993', 9007199254740993n]], ['9223372036854775808', 'NaN']],
    [
      'float64',
      [
        ['1', 1],
        ['1e3', 1000],
        ['NaN', 'NaN'],
        ['-Infinity', '-Infinity'],
      ],
      ['nan', '1e999', '1,5', '0x1'],
    ],
    [
      'decimal(5, 2)',
      [
        ['1.10', '1.10'],
        ['+001', '1'],
        ['-999.99', '-999.99'],
        ['1.100', '1.100'],
      ],
      ['1000', '1.001', '1e2', 'NaN'],
    ],
    ['decimal', [['0.12345678901234567890', '0.12345678901234567890']], ['x']],
    ['date', [['2024-02-29', '2024-02-29']], ['2023-02-29', '29.02.2024']],
    [
      'timestamp(us)',
      [['2024-05-06 07:08:09.5', '2024-05-06T07:08:09.5']],
      ['2024-05-06T07:08:09Z', '2024-05-06'],
    ],
    [
      'timestamp(us, UTC)',
      [
        ['2024-05-06 07:08:09', '2024-05-06T07:08:09Z'],
        ['2024-05-06t07:08:09+02:00', '2024-05-06T07:08:09+02:00'],
      ],
      ['2024-13-06T07:08:09Z'],
    ],
    [
      'timestamp(us, Europe/Vienna)',
      [['2024-05-06T07:08:09Z', '2024-05-06T07:08:09Z']],
      ['2024-05-06 07:08:09'],
    ],
    [
      'uuid',
      [['0189C0DE-0000-7000-8000-000000000000', '0189c0de-0000-7000-8000-000000000000']],
      ['x'],
    ],
    ['binary', [['aGk=', 'aGk=']], ['aGk']],
    [
      'json',
      [
        ['{"a":[1]}', { a: [1] }],
        ['"x"', 'x'],
      ],
      ['{'],
    ],
    ['list(int32)', [['[1,null]', [1, null]]], ['["1"]', '1']],
  ])('%s', (type, good, bad) => {
    const convert = valueConverter(typeOf(type), true);
    for (const [text, value] of good) expect([text, convert(text)]).toEqual([text, value]);
    for (const text of bad) expect([text, convert(text)]).toEqual([text, undefined]);
  });

  test('values that already have types keep them', () => {
    const convert = (type: string, value: JsonValue) => valueConverter(typeOf(type), false)(value);
    expect(convert('json', 'text')).toBe('text');
    expect(convert('utf8', '')).toBe('');
    expect(convert('int64', '')).toBeUndefined();
    expect(convert('int32', 1.5)).toBeUndefined();
    expect(convert('decimal(5, 2)', 1.25)).toBe('1.25');
    expect(convert('float64', 2n ** 60n)).toBe(Number(2n ** 60n));
  });
});

describe('pages with declared columns', () => {
  const fields: RecordField[] = [
    { name: 'id', type: typeOf('int64'), nullable: false },
    { name: 'at', type: typeOf('date'), nullable: true },
  ];
  async function read(...pages: JsonValue[][]): Promise<Page[]> {
    const source = async function* (): AsyncGenerator<Page> {
      for (const [index, records] of pages.entries())
        yield Page.ofRecords(records, { bookmark: index, bytes: 7 });
    };
    const typed: Page[] = [];
    for await (const page of typedPages(
      source(),
      { fields, others: true },
      { name: 'in.csv', fromText: true },
    ))
      typed.push(page);
    return typed;
  }

  test('keep everything else of their page', async () => {
    const [page] = await read([{ id: '1', at: '', x: 'y' }, 5, { id: '2' }]);
    expect(page?.records()).toEqual([{ id: 1, at: null, x: 'y' }, 5, { id: 2 }]);
    expect([page?.bookmark, page?.bytes]).toEqual([0, 7]);
    expect(schemaText(page?.schema ?? { fields: [] })).toBe('id: int64 not null, at: date, …');
  });

  test('say which record does not fit', async () => {
    await expect(read([{ id: '1' }], [{ id: '2' }, { id: 'x' }])).rejects.toThrow(
      '`id` in record 3 of in.csv is no int64',
    );
    await expect(read([{ at: '2024-01-01' }])).rejects.toThrow(
      '`id` in record 1 of in.csv has no value',
    );
  });
});
