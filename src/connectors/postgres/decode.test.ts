import { describe, expect, test } from 'vitest';
import { decoderOf } from './decode.ts';

const JSONB = 3802;

describe('numbers inside JSON columns', () => {
  test.each([
    ['{"a":9007199254740993}', { a: 9007199254740993n }],
    ['[18446744073709551615, -9223372036854775808]', [18446744073709551615n, -9223372036854775808n]],
    ['[0.30000000000000004]', [0.30000000000000004]],
    ['[1.00000000000000000000, 1e10]', [1, 1e10]],
    ['{"text":"1234567890123456789012"}', { text: '1234567890123456789012' }],
  ])('%s is read exactly', (text, expected) => {
    expect(decoderOf(JSONB, 'c', 'fail')(text)).toEqual(expected);
  });

  test.each(['18446744073709551616', '0.1234567890123456789', '1e400'])('%s cannot be held exactly', (digits) => {
    expect(() => decoderOf(JSONB, 'amounts', 'fail')(`[${digits}]`)).toThrow(`column \`amounts\` holds the number ${digits}`);
    expect(decoderOf(JSONB, 'amounts', 'string')(`[${digits}]`)).toEqual([digits]);
  });
});
