import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../lib/text/json.ts';
import { parseType } from './type-text.ts';
import type { RecordType } from './record-schema.ts';
import { fieldFault, hasTypeForm } from './typed-values.ts';

function type(text: string): RecordType {
  const parsed = parseType(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
}

describe('the form of a value', () => {
  test.each<[string, JsonValue[], JsonValue[]]>([
    ['bool', [true, null], [1, 'true']],
    ['int8', [-128, 127], [128, 1.5, '1']],
    ['uint8', [0, 255], [-1, 256]],
    ['int64', [2n ** 63n - 1n, -(2n ** 63n), 5], [2n ** 63n]],
    ['uint64', [2n ** 64n - 1n], [-1]],
    ['float64', [1, 1.5, 'NaN', '-Infinity'], ['1.5', 'nan', 5n]],
    ['decimal(5, 2)', ['1.10', '-0.5', 'NaN', '1e5'], [1.1, '1,5', '']],
    ['binary', ['', 'aGk=', 'AP8='], ['aGk', 'a GK=', 1]],
    [
      'uuid',
      ['0189c0de-0000-7000-8000-000000000000'],
      ['0189C0DE-0000-7000-8000-000000000000', 'x'],
    ],
    ['date', ['2024-05-06', 'infinity', '0044-03-15 BC'], ['2024-5-6', 20240506]],
    ['time', ['07:08:09', '07:08:09.123456'], ['7:08']],
    [
      'timestamp(us)',
      ['2024-05-06T07:08:09.5', '-infinity'],
      ['2024-05-06T07:08:09Z', '2024-05-06'],
    ],
    ['timestamp(us, UTC)', ['2024-05-06T07:08:09Z'], ['2024-05-06T07:08:09']],
    ['interval', ['P1DT2H', 'PT-1S'], ['1 day']],
    ['json', [1, 'x', { a: [1] }], []],
    ['list(int32)', [[1, null]], [['1'], 1]],
    ['struct(a: int32 not null)', [{ a: 1 }], [{ a: null }, { a: 'x' }, []]],
    ['map(utf8, int32)', [{ a: 1, b: null }], [{ a: 'x' }, 1]],
  ])('%s', (text, good, bad) => {
    for (const value of good)
      expect([value, hasTypeForm(value, type(text))]).toEqual([value, true]);
    for (const value of bad)
      expect([value, hasTypeForm(value, type(text))]).toEqual([value, false]);
  });

  test('records have exactly the fields of a closed schema', () => {
    const fields = [{ name: 'a', type: type('int32'), nullable: true }];
    expect(fieldFault({ a: 1 }, { fields })).toBeUndefined();
    expect(fieldFault({}, { fields })).toContain('missing');
    expect(fieldFault({ a: 1, b: 2 }, { fields })).toContain('`b`');
    expect(fieldFault({ b: 2 }, { fields, others: true })).toBeUndefined();
  });
});
