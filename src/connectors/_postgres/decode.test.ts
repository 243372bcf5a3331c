import { describe, expect, test } from 'vitest';
import { stringifyJson } from '../../lib/text/json.ts';
import { decoderOf } from './decode.ts';

const JSONB = 3802;

const TIMESTAMPTZ = 1184;

test.each([
  ['2024-05-06 07:08:09+00', '2024-05-06T07:08:09Z'],
  ['2024-05-06 07:08:09.000001+00', '2024-05-06T07:08:09.000001Z'],
  ['infinity', 'infinity'],
  ['0044-03-15 00:00:00+00 BC', '0044-03-15 00:00:00+00 BC'],
  ['12024-01-01 00:00:00+00', '12024-01-01 00:00:00+00'],
])('the moment %s is told as %s', (text, expected) => {
  expect(decoderOf({ oid: TIMESTAMPTZ, name: 'c' }, 'fail')(text)).toBe(expected);
});

describe('numbers inside JSON columns', () => {
  test.each([
    ['{"a":9007199254740993}', { a: 9007199254740993n }],
    [
      '[18446744073709551615, -9223372036854775808]',
      [18446744073709551615n, -9223372036854775808n],
    ],
    ['[0.30000000000000004]', [0.30000000000000004]],
    ['{"text":"1234567890123456789012"}', { text: '1234567890123456789012' }],
  ])('%s is read exactly', (text, expected) => {
    expect(decoderOf({ oid: JSONB, name: 'c' }, 'fail')(text)).toEqual(expected);
  });

  test.each(['[1.00000000000000000000,1e10]', '[1E22,10000000000000000000000]'])(
    '%s keeps how its numbers are written',
    (text) => {
      const value = decoderOf({ oid: JSONB, name: 'c' }, 'fail')(text);
      expect([...(value as number[])]).toEqual(JSON.parse(text));
      expect(stringifyJson(value)).toBe(text);
    },
  );

  test.each([
    '18446744073709551616',
    '0.1234567890123456789',
    '0.12345678901234567',
    '1e400',
    '1e-400',
  ])('%s cannot be held exactly', (digits) => {
    expect(() => decoderOf({ oid: JSONB, name: 'amounts' }, 'fail')(`[${digits}]`)).toThrow(
      `column \`amounts\` holds the number ${digits}`,
    );
    expect(decoderOf({ oid: JSONB, name: 'amounts' }, 'string')(`[${digits}]`)).toEqual([digits]);
  });
});
