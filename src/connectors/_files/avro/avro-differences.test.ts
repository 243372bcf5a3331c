import { describe, expect, it } from 'vitest';
import { refuseDifferences } from './avro-differences.ts';

const record = (...fields: object[]) => ({ type: 'record', name: 'R', fields });
const timestamp = (unit: string) => ({ type: 'long', logicalType: `timestamp-${unit}` });
const decimal = (scale: number) => ({
  type: 'bytes',
  logicalType: 'decimal',
  precision: 9,
  scale,
});
const v = (type: unknown) => record({ name: 'v', type });

function reading(written: object, schema: object, file: string | undefined) {
  return () => refuseDifferences(written, '2.avro', { schema, file });
}

describe('a file that is read with the schema of the first one', () => {
  it.each([
    [
      'a field that the first has not',
      record({ name: 'v', type: 'int' }),
      record(),
      '"v": missing in 1.avro, int',
    ],
    [
      'a field of a field',
      v({ type: 'record', name: 'N', fields: [{ name: 'b', type: 'int' }] }),
      v({ type: 'record', name: 'N', fields: [] }),
      '"v.b": missing',
    ],
    [
      'other decimals',
      v(decimal(3)),
      v(decimal(2)),
      '"v": decimal with 2 decimals in 1.avro, decimal with 3 decimals in 2.avro',
    ],
    [
      'another unit',
      v(['null', timestamp('micros')]),
      v(['null', timestamp('millis')]),
      '"v": timestamp-millis in 1.avro, timestamp-micros',
    ],
    [
      'a zone',
      v({ type: 'long', logicalType: 'local-timestamp-micros' }),
      v(timestamp('micros')),
      'local-timestamp-micros',
    ],
    ['no unit', v('long'), v(timestamp('micros')), '"v": timestamp-micros in 1.avro, long'],
    [
      'a unit where the first has none',
      v({ type: 'int', logicalType: 'date' }),
      v('int'),
      'date in 2.avro',
    ],
    ['numbers that would be rounded', v('long'), v('double'), '"v": double in 1.avro, long'],
    [
      'another unit in a list',
      v({ type: 'array', items: timestamp('micros') }),
      v({ type: 'array', items: timestamp('millis') }),
      'timestamp-micros',
    ],
    [
      'another unit in a union',
      v(['null', timestamp('micros'), 'string']),
      v(['null', timestamp('millis'), 'string']),
      'timestamp-micros',
    ],
  ])('is refused with %s', (_, written, first, says) => {
    expect(reading(written, first, '1.avro')).toThrow(says);
  });

  it.each([
    ['the same', v(timestamp('micros')), v(timestamp('micros'))],
    ['fewer fields', record(), record({ name: 'v', type: 'int', default: 0 })],
    [
      'an older name',
      record({ name: 'old', type: 'int' }),
      record({ name: 'v', type: 'int', aliases: ['old'] }),
    ],
    ['a narrower number', v('int'), v(['null', 'long'])],
    [
      'itself inside',
      record({ name: 'next', type: ['null', 'R'] }),
      record({ name: 'next', type: ['null', 'R'] }),
    ],
    [
      'the alternatives in another order',
      v(['string', timestamp('micros')]),
      v([timestamp('micros'), 'string']),
    ],
  ])('is read with %s', (_, written, first) => {
    expect(reading(written, first, '1.avro')).not.toThrow();
  });
});

describe('a file that is read with a schema of the document', () => {
  it.each([
    ['fields left out', record({ name: 'v', type: 'int' }), record()],
    ['a unit that the file does not tell', v('long'), v(timestamp('micros'))],
    ['the number of a time', v(timestamp('micros')), v('long')],
    ['a number as it says', v('long'), v('double')],
  ])('is read with %s', (_, written, given) => {
    expect(reading(written, given, undefined)).not.toThrow();
  });

  it.each([
    ['other decimals', v(decimal(3)), v(decimal(2))],
    ['another unit', v(timestamp('micros')), v(timestamp('millis'))],
  ])('is refused with %s', (_, written, given) => {
    expect(reading(written, given, undefined)).toThrow(
      'a file differs from `avro.schema` in the field "v"',
    );
  });
});
