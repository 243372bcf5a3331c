import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactNumber } from './exact-number.ts';

interface Decimal {
  readonly digits: bigint;
  readonly power: number;
}

/** The number that a text means, by arithmetic on integers alone. */
function decimalOf(text: string): Decimal {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), power: Number(exponent) - fraction.length };
}

/** Both scaled to the smaller power of ten. */
function isEqual(a: Decimal, b: Decimal): boolean {
  const power = Math.min(a.power, b.power);
  const scaled = (one: Decimal): bigint => one.digits * 10n ** BigInt(one.power - power);
  return scaled(a) === scaled(b);
}

const digits = (most: number) => fc.stringMatching(new RegExp(`^(0|[1-9]\\d{0,${most - 1}})$`));
const jsonNumber = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: digits(24),
    fraction: fc.option(fc.stringMatching(/^\d{1,24}$/)),
    exponent: fc.option(fc.integer({ min: -340, max: 320 })),
    letter: fc.constantFrom('e', 'E', 'e+', 'E+'),
  })
  .map(({ sign, whole, fraction, exponent, letter }) => {
    const power =
      exponent === null ? '' : exponent < 0 ? `${letter[0]}${exponent}` : `${letter}${exponent}`;
    return `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${power}`;
  });
/** What a double is written as, and the same with another last digit. */
const nearDouble = fc
  .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom('', '1', '0', '00'))
  .map(([value, more]) => {
    const [mantissa = '', exponent] = String(value).split('e');
    const longer = mantissa.includes('.') || more === '' ? mantissa + more : `${mantissa}.${more}`;
    return exponent === undefined ? longer : `${longer}e${exponent}`;
  });

test('a number is exact when it is written as the same decimal number that was read', () => {
  fc.assert(
    fc.property(fc.oneof(jsonNumber, nearDouble), (source) => {
      const value = JSON.parse(source) as number;
      const exact = exactNumber(value, source);
      const whole = /^-?\d+$/.test(source) ? BigInt(source) : undefined;
      const isSame = Number.isFinite(value) && isEqual(decimalOf(String(value)), decimalOf(source));
      if (isSame) expect(exact).toBe(value);
      else if (whole !== undefined && whole < 2n ** 64n && whole >= -(2n ** 63n))
        expect(exact).toBe(whole);
      else expect(exact).toBeUndefined();
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ['1E22', 1e22],
  ['10000000000000000000000', 1e22],
  ['0.30000000000000004', 0.30000000000000004],
  ['18446744073709551615', 18446744073709551615n],
  ['-0', -0],
  ['0e400', 0],
])('%s is exact', (source, expected) => {
  expect(exactNumber(JSON.parse(source) as number, source)).toBe(expected);
});

test.each(['0.12345678901234567', '18446744073709551616', '1e-400', '1e400', '1.0000000000000001'])(
  '%s is not',
  (source) => {
    expect(exactNumber(JSON.parse(source) as number, source)).toBeUndefined();
  },
);
