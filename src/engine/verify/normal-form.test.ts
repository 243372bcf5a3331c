import { describe, expect, it } from 'vitest';
import { verifyDefaults, type NormalizeSpec } from '../../blocks/verify/schema.ts';
import type { ColumnHolds } from '../../kit/source.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { instantText } from './instant-text.ts';
import { createForms, recordForms } from './normal-form.ts';
import { plainDecimal } from './plain-decimal.ts';

function isSame(
  one: JsonValue | undefined,
  other: JsonValue | undefined,
  spec: Partial<NormalizeSpec> = {},
  holds: ColumnHolds[] = [],
): boolean {
  const form = createForms({ ...verifyDefaults().normalize, ...spec });
  return form(one, new Set(holds)) === form(other, new Set(holds));
}

describe('two values are the same', () => {
  it.each<[JsonValue | undefined, JsonValue | undefined]>([
    [null, undefined],
    [1, 1n],
    [1e20, 100000000000000000000n],
    [0, -0],
    ['2026-01-01T00:00:00Z', '2026-01-01 00:00:00'],
    ['2026-01-01', '2025-12-31T19:00:00.000-05:00'],
    ['2026-01-01T00:00:00.1234567Z', '2026-01-01T01:00:00.123456+01'],
    ['0044-03-15 BC', '0044-03-15 (BC)'],
    ['0044-03-15 12:00:00.5 BC', '0044-03-15 (BC) 12:00:00.5'],
    ['0044-03-15 12:00:00.5+01 BC', '-000043-03-15T11:00:00.5Z'],
    ['0001-12-31 BC', '0000-12-31'],
    ['294276-12-31 23:59:59.999999+00', '+294276-12-31T23:59:59.999999Z'],
    [
      { a: 1, b: [null, { c: null }] },
      { b: [null, {}], a: 1, d: null },
    ],
  ])('%o and %o', (one, other) => expect(isSame(one, other)).toBe(true));

  it.each<[JsonValue | undefined, JsonValue | undefined]>([
    [1, '1'],
    ['1', '1.0'],
    [true, 1],
    [null, ''],
    [0.1, 0.10000000000000002],
    ['2026-02-30', '2026-03-02'],
    ['0044-03-15 BC', '0044-03-15'],
    ['0044-02-30 BC', '0044-03-01 (BC)'],
    ['10000-01-01 BC', 'from 10000-01-01 BC'],
    ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00Z'],
    [
      [1, 2],
      [2, 1],
    ],
    [[null], []],
    [9007199254740993n, 9007199254740992n],
    ['[1]', [1]],
  ])('but not %o and %o', (one, other) => expect(isSame(one, other)).toBe(false));

  it('as the document says: numbers within a tolerance, texts as numbers, times as they are spelled', () => {
    expect(isSame(0.1, 0.100001, { float_tolerance: 0.01 })).toBe(true);
    expect(isSame(1, 1.02, { float_tolerance: 0.01 })).toBe(false);
    expect(isSame('1.50', 1.5, { numeric_strings: true })).toBe(true);
    expect(isSame('1.50', '1.5', { numeric_strings: true })).toBe(true);
    expect(isSame('2026-01-01T00:00:00Z', '2026-01-01 00:00:00', { timestamps: false })).toBe(
      false,
    );
  });

  it('as far as a column can tell them apart', () => {
    expect(isSame('12.50', 12.5, {}, ['numbers'])).toBe(true);
    expect(isSame(true, 1, {}, ['numbers'])).toBe(true);
    expect(isSame('12.5', 12.5, {}, ['texts'])).toBe(true);
    expect(isSame('12.50', 12.5, {}, ['texts'])).toBe(false);
    expect(isSame('true', true, {}, ['texts'])).toBe(true);
    expect(isSame('{"b":1,"a":2}', { a: 2, b: 1 }, {}, ['texts'])).toBe(true);
    expect(isSame('', null, {}, ['cells'])).toBe(true);
    expect(isSame('', null, {}, ['texts'])).toBe(false);
    expect(isSame('12', 12, {}, ['json'])).toBe(true);
    expect(isSame('[1, {"b":2}]', [1, { b: 2 }], {}, ['documents'])).toBe(true);
    expect(isSame('12', 12, {}, ['documents'])).toBe(false);
    expect(isSame('ab  ', 'ab', {}, ['padded'])).toBe(true);
    expect(isSame(' ab', 'ab', {}, ['padded'])).toBe(false);
    expect(
      isSame('{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', {}, [
        'uuids',
        'texts',
      ]),
    ).toBe(true);
    for (const text of ['t', 'Yes', ' on ', '1'])
      expect(isSame(text, true, {}, ['booleans', 'cells']), text).toBe(true);
    for (const text of ['f', 'No', 'off', '0'])
      expect(isSame(text, false, {}, ['booleans']), text).toBe(true);
    expect(isSame(1, true, {}, ['booleans'])).toBe(true);
    expect(isSame(2, true, {}, ['booleans'])).toBe(false);
    expect(isSame('ja', true, {}, ['booleans'])).toBe(false);
  });
});

it('decimals have one spelling', () => {
  const spelled = [
    '1',
    '+01.50',
    '-0.0',
    '1e3',
    '1.25E-2',
    '.5',
    '5.',
    '-12.340',
    '1,5',
    '',
    '-',
    'e5',
    '0x1',
  ].map(plainDecimal);
  expect(spelled).toEqual([
    '1',
    '1.5',
    '0',
    '1000',
    '0.0125',
    '0.5',
    '5',
    '-12.34',
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it('instants are told from texts that only look like them', () => {
  expect(instantText('1970-01-01T00:00:01.5Z')).toBe('1.500000');
  expect(instantText('1970-01-01 02:00:00 +0200')).toBe('0.000000');
  for (const text of [
    '2026-13-01',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-1-1',
    '20260101',
    'x026-01-01',
    '2026-01-01T00:00',
  ])
    expect(instantText(text), text).toBeUndefined();
});

it('records meet by the text of their key, which does not count itself', () => {
  const forms = recordForms({
    key: ['a', 'b'],
    counts: (name) => name !== 'skip',
    holding: () => new Set(),
    normalize: verifyDefaults().normalize,
  });
  expect(forms.key({ a: 1, b: 'x' })).toBe(forms.key({ a: '1', b: 'x', c: 3 }));
  expect(forms.key({ a: null, b: 'x' })).not.toBe(forms.key({ a: 'null', b: 'x' }));
  expect(forms.key({ a: 'x","y', b: 'z' })).not.toBe(forms.key({ a: 'x', b: 'y","z' }));
  expect(forms.text({ a: 1, b: 2, c: 3, skip: 4, d: null })).toBe(forms.text({ c: 3, a: 7, b: 8 }));
  expect(forms.differing({ a: 1, c: 3, d: 4 }, { a: 2, c: 3.5, skip: 1, e: null })).toEqual([
    'c',
    'd',
  ]);
  expect(forms.named({ b: 'x' })).toEqual({ a: null, b: 'x' });
});
