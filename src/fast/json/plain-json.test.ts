import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseData, stringifyJson } from '../../lib/text/json.ts';
import { PlainJson } from './plain-json.ts';

const plain = new PlainJson();

function holds(text: string | Buffer): boolean {
  const bytes = Buffer.from(text as string);
  // Bytes around it are not looked at.
  const inside = Buffer.concat([Buffer.from('"{,'), bytes, Buffer.from('}],1')]);
  return plain.holds(inside, 3, 3 + bytes.length);
}

/** Whether the text is JSON that is written as it was. */
function staysTheSame(text: string): boolean {
  try {
    // As without what is remembered of the spelling of numbers.
    return stringifyJson(JSON.parse(text)) === text && stringifyJson(parseData(text)) === text;
  } catch {
    return false;
  }
}

describe('plain JSON', () => {
  it.each([
    '{"id":1,"name":"Anna Novák","amount":12.5,"active":true,"none":null,"in":{"id":[1,-2,"x",{}]}}',
    '{}',
    '[]',
    '""',
    '0',
    '-1.25',
    '0.000001',
    '999999999999999',
    'false',
    '{"a":{"b":1},"b":2}',
    '{"":1}',
    '"{\\"a\\":\\"\\\\n\\"}\\b\\f\\n\\r\\t"',
    '{"__proto__":1}',
  ])('holds %s', (text) => {
    expect(holds(text)).toBe(true);
    expect(staysTheSame(text)).toBe(true);
  });

  it.each([
    ['a space', '{"a": 1}'],
    ['an escape that is not needed', '"a\\/b"'],
    ['an escape by number', '"a\\u00e9b"'],
    ['an escape at its end', '"a\\"'],
    ['a control character', '"a\u0001"'],
    ['names that look like numbers', '{"b":1,"2":1}'],
    ['two equal names', '{"a":1,"b":2,"a":3}'],
    ['a zero at the end', '1.10'],
    ['negative zero', '-0'],
    ['a zero in front', '01'],
    ['a zero in front of a decimal', '01.5'],
    ['no digit in front of the point', '-.5'],
    ['no digit behind the point', '1.'],
    ['an exponent', '1e5'],
    ['an exponent behind a decimal', '1.5e5'],
    ['too many digits', '1234567890123456'],
    ['too many digits of a decimal', '0.1234567890123456'],
    ['a very small number', '0.0000001'],
    ['two points', '1.2.3'],
    ['a sign alone', '-'],
    ['nothing', ''],
    ['a word that is none', 'nul'],
    ['two values', '1,2'],
    ['a text without an end', '"abc'],
    ['an object without an end', '{"a":1'],
    ['a list without an end', '[1,'],
    ['a comma too many', '[1,]'],
    ['a name without a value', '{"a"}'],
    ['a name without quotes', '{a:1}'],
    ['a byte order mark', '\uFEFF1'],
    ['too many levels', `${'['.repeat(65)}${']'.repeat(65)}`],
  ])('does not hold what has %s', (_what, text) => {
    expect(holds(text)).toBe(false);
  });

  it('does not hold what is no UTF-8', () => {
    expect(holds(Buffer.from([0x22, 0xe9, 0x22]))).toBe(false);
  });

  it('goes on after objects with many names', () => {
    const many = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"n${index}":${index}`).join(',')}}`;
    expect(holds(many(256))).toBe(true);
    expect(holds(many(257))).toBe(false);
    expect(holds(`[${many(200)},${many(200)}]`)).toBe(true);
  });

  it('holds nothing that would be written in another way', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        if (holds(text)) expect(staysTheSame(text)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      '"a"',
      '"b"',
      '"é"',
      '"\\n"',
      '"\\',
      ':',
      ',',
      '0',
      '1',
      '-',
      '.',
      'true',
      ' ',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (some) => {
        const text = some.join('');
        if (holds(text)) expect(staysTheSame(text)).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  it('finds most of what is written compactly', () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.stringMatching(/^[ !#-[\]-~é]*$/),
        fc.array(tie('value')),
        fc.dictionary(fc.stringMatching(/^[a-z]+$/), tie('value')),
      ),
    })).value;
    fc.assert(fc.property(value, (one) => holds(JSON.stringify(one))));
  });
});
