import { describe, expect, test } from 'vitest';
import { JSON_NULL } from '../../../lib/text/json-literal.ts';
import { readJson } from './json-binary.ts';

const read = (hex: string) => readJson(Buffer.from(hex.replaceAll(/\s+/g, ''), 'hex'));

/** The bytes are those that the documentation of MySQL describes (`sql-common/json_binary.h`). */
describe('a JSON value in the form of MySQL', () => {
  test.each([
    ['04 00', JSON_NULL],
    ['', JSON_NULL],
    ['04 01', true],
    ['04 02', false],
    ['05 feff', -2],
    ['06 feff', 65_534],
    ['07 feffffff', -2],
    ['08 feffffff', 4_294_967_294],
    ['09 0000000000002080', -9_214_364_837_600_034_816n],
    ['0a ffffffffffffffff', 18_446_744_073_709_551_615n],
    ['0a 2a00000000000000', 42],
    ['0b 000000000000f83f', 1.5],
    ['0c 03 c3bc78', 'üx'],
  ])('%s is read', (hex, value) => expect(read(hex)).toEqual(value));

  test('of a long text has a length of several bytes', () => {
    expect(read(`0c c801 ${'61'.repeat(200)}`)).toBe('a'.repeat(200));
  });

  test('may be a list, whose short values stand in its table', () => {
    expect(read('02 04001600 040100 050100 0c1000 021200 0162 00000400')).toEqual([
      true,
      1,
      'b',
      [],
    ]);
  });

  test('may be an object, whose keys stand before its values', () => {
    const head = '00 02002800 12000100 13000900 050100 001c00 61 5f5f70726f746f5f5f';
    const found = read(`${head} 01000c00 0b000100 040000 62`);
    expect(Object.entries(found as object)).toEqual([
      ['a', 1],
      ['__proto__', { b: null }],
    ]);
  });

  test('may be large, with numbers of four bytes', () => {
    expect(read('03 0200000014000000 07ffffffff 0c12000000 0178')).toEqual([-1, 'x']);
  });

  test.each([
    ['0f f6 05 0502807b2d', '123.45'],
    ['0f 0c 08 20a10709724cb319', '2024-05-06 07:08:09.500000'],
    ['0f 07 08 20a10709724cb319', '2024-05-06 07:08:09.500000'],
    ['0f 0a 08 00000000004cb319', '2024-05-06'],
    ['0f 0b 08 ffffff4737ffffff', '-12:34:56.000001'],
  ])('keeps decimals and times as texts: %s', (hex, value) => expect(read(hex)).toBe(value));

  test('of another type of column says its type and its bytes', () => {
    expect(read('0f fc 02 ffff')).toBe('base64:type252://8=');
  });

  test.each(['02 ff00 0500', '0c 05 61', '1f 00', '04 09', '00 0100 0c00 0b00 ff00'])(
    'that is cut off or damaged is refused: %s',
    (hex) => expect(() => read(hex)).toThrow(RangeError),
  );

  test('cannot lie in itself for ever', () => {
    // A list whose only member is itself.
    expect(() => read('02 0100 0700 02 0000 00')).toThrow('too deep');
  });
});
