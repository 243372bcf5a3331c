import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { documentText } from '../lib/text/json-literal.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { TypeInference } from './infer-types.ts';
import { parseType, typeText } from './type-text.ts';
import { exactConverter } from './typed-conversion.ts';
import { hasTypeForm } from './typed-values.ts';

function inferred(values: readonly JsonValue[], fromText: boolean) {
  const inference = new TypeInference({ fromText });
  for (const v of values) inference.add({ v });
  const [field] = inference.schema().fields;
  return field;
}

function told(values: readonly JsonValue[], fromText: boolean): string {
  const field = inferred(values, fromText);
  if (field === undefined) return 'unknown';
  const { because } = field.evidence ?? {};
  return `${typeText(field.type)}${because === undefined ? '' : `: ${because}`}`;
}

describe('texts', () => {
  test.each<[string, string]>([
    ['1 0 -7 999999999999999999 9223372036854775807', 'int64'],
    ['1 9223372036854775808', 'utf8: record 2 has more than 64 bits'],
    ['1 007', 'utf8: record 2 has a leading zero'],
    ['1 +7', 'utf8: record 2 has a plus sign'],
    ['1 -0', 'utf8: record 2 is a negative zero'],
    ['1.5 -0.0', 'utf8: record 2 is a negative zero'],
    ['1 n/a', 'utf8: record 2 is a text'],
    ['1.5 1.', 'utf8: record 2 spells a number in another way'],
    ['12.50 3.25 100.00', 'decimal(38, 2): record 1 has 2 decimals'],
    ['12.50 3.255', 'decimal(38, 3): record 2 has 3 decimals'],
    ['0.1 12.25 3 1e-7', 'float64: record 4 is a number with an exponent'],
    ['0.1 12.25', 'float64: record 1 is a number with a fraction'],
    ['0.10 1e-7', 'utf8: no type of numbers holds the digits of all values'],
    ['1e5', 'utf8: record 1 spells a number in another way'],
    [
      `1.5 ${'9'.repeat(18)}.${'1'.repeat(21)}`,
      'utf8: no type of numbers holds the digits of all values',
    ],
    ['true false', 'bool'],
    ['true TRUE', 'utf8: record 2 is a text'],
    ['true 1', 'utf8: record 1 is true or false, record 2 is a whole number'],
    ['2024-02-29', 'date'],
    ['2024-02-29 2023-02-29', 'utf8: record 2 is a text'],
    ['2024-02-29 0000-01-01', 'utf8: record 2 is a text'],
    ['2024-02-29T07:08:09 2024-02-29T07:08:09.5', 'timestamp(us)'],
    ['2024-02-29T07:08:09.1234567Z', 'timestamp(ns, UTC): record 1 has 7 digits of a second'],
    ['2024-02-29T07:08:09.1234567890Z', 'utf8: record 1 has more digits than a time'],
    [
      '2024-02-29T07:08:09Z 2024-02-29T07:08:09',
      'utf8: record 1 is a time in UTC, record 2 is a time without a zone',
    ],
    ['2024-02-29T07:08:09+02:00', 'utf8: record 1 is a text'],
    ['2024-02-29T24:00:00', 'utf8: record 1 is a text'],
    ['0189c0de-0000-7000-8000-000000000000', 'uuid'],
    ['0189C0DE-0000-7000-8000-000000000000', 'utf8: record 1 is a text'],
    ['NaN', 'utf8: record 1 is a text'],
  ])('%s', (texts, expected) => {
    expect(told(texts.split(' '), true)).toBe(expected);
  });

  it('that are empty decide nothing', () => {
    expect(told(['', '1', ''], true)).toBe('int64');
    expect(inferred(['', '1', null], true)?.evidence).toEqual({ values: 1, empty: 2 });
    expect(told(['', ''], true)).toBe('utf8');
    expect(told(['2024-02-29 07:08:09'], true)).toBe('timestamp(us)');
  });
});

describe('values of JSON', () => {
  test.each<[string, JsonValue[], string]>([
    ['whole', [1, 2n ** 60n], 'int64'],
    [
      'large',
      [1, 2n ** 64n],
      'json: record 1 is a whole number, record 2 is a number of more than 64 bits',
    ],
    ['fractions', [1, 2.5], 'float64: record 2 is a number with a fraction'],
    ['digits', [2.5, 2n ** 60n + 1n], 'json: no type of numbers holds the digits of all values'],
    ['texts of numbers', ['1', '2'], 'utf8: record 1 is a text'],
    ['dates', ['2024-02-29', null], 'date'],
    ['mixed', ['x', 1], 'json: record 1 is a text'],
    ['nested', [[1], { a: 2 }], 'json'],
    ['nothing', [null, null], 'unknown'],
    ['texts and dates', ['2024-02-29', 'x'], 'utf8: record 2 is a text'],
    ['empty texts', ['', '2024-02-29'], 'utf8'],
  ])('%s', (_title, values, expected) => {
    expect(told(values, false)).toContain(expected);
  });
});

const text = fc.oneof(
  fc.constantFrom('', '0', '-0', '007', '+7', '1.0', '1.10', '.5', '1e5', '1e-7', 'true', 'T'),
  fc.constantFrom('2024-02-29', '2024-02-29 07:08:09', '2024-02-29T07:08:09.123456789Z'),
  fc.double({ noNaN: true }).map(String),
  fc.bigInt().map(String),
  fc.stringMatching(/^-?\d{1,30}(\.\d{1,20})?$/),
  fc.string(),
);
const sameKind = fc.oneof(
  fc.stringMatching(/^[1-9]\d{0,20}$/),
  fc.stringMatching(/^\d{1,3}\.\d\d$/),
  fc.stringMatching(/^2024-0[1-9]-2\d([T ]0\d:00:00)?(\.\d{1,10})?Z?$/),
);

describe('an inferred type', () => {
  it('gives each value back as it was written, or it is a text', () => {
    const texts = fc.oneof(fc.array(text, { minLength: 1 }), fc.array(sameKind, { minLength: 1 }));
    fc.assert(
      fc.property(texts, (values) => {
        const type = inferred(values, true)?.type ?? { kind: 'utf8' };
        const convert = exactConverter(type, true);
        for (const value of values) {
          const converted = convert(value);
          if (value === '' && type.kind !== 'utf8') expect(converted).toBeNull();
          else {
            expect(hasTypeForm(converted ?? null, type)).toBe(true);
            const written =
              typeof converted === 'string' ? converted : documentText(converted ?? null);
            expect(written.replace('T', ' ')).toBe(value.replace('T', ' '));
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('leaves values of JSON as they are', () => {
    const value = fc.oneof(
      fc.jsonValue() as fc.Arbitrary<JsonValue>,
      fc.bigInt(),
      text,
      fc.constantFrom(1, 2.5, -0, 1e300),
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const type = inferred(values, false)?.type ?? { kind: 'json' };
        const convert = exactConverter(type, false);
        for (const one of values) {
          const converted = convert(one);
          if (type.kind === 'timestamp' && typeof one === 'string')
            expect(converted).toBe(one.replace(' ', 'T'));
          else expect(converted).toBe(one);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('refuses later what another value would be written for', () => {
    const fits = (name: string, value: JsonValue, fromText = true): boolean => {
      const type = parseType(name);
      return type !== undefined && exactConverter(type, fromText)(value) !== undefined;
    };
    expect(['007', '+7', '-0', '1.0', 'x'].filter((value) => fits('int64', value))).toEqual([]);
    expect(['1.50', '1e5', '9007199254740993'].filter((value) => fits('float64', value))).toEqual(
      [],
    );
    expect(['1', 2n ** 60n + 1n].filter((value) => fits('float64', value, false))).toEqual([]);
    expect(['1.234', '01.5'].filter((value) => fits('decimal(38, 2)', value))).toEqual([]);
    expect(['TRUE', '1'].filter((value) => fits('bool', value))).toEqual([]);
    expect(['2024-02-29T07:08:09.1234567'].filter((value) => fits('timestamp(us)', value))).toEqual(
      [],
    );
    expect([12].filter((value) => fits('utf8', value, false))).toEqual([]);
    expect(fits('decimal(38, 2)', '5')).toBe(true);
  });
});
