import { Binary, BSON, Double, Int32, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { parseData, parseJson, stringifyJson, type JsonObject } from '../text/json.ts';
import { bsonOfFields } from './to-bson.ts';
import { jsonOfBson } from './to-json.ts';

/** The way of a record through the database. */
function stored(record: JsonObject): JsonObject {
  return jsonOfBson(BSON.serialize(bsonOfFields(record)));
}

describe('Extended JSON', () => {
  test.each<JsonObject>([
    { $oid: '65a1b2c3d4e5f60718293a4b' },
    { $date: '2024-05-06T07:08:09Z' },
    { $date: '2024-05-06T07:08:09.250Z' },
    { $date: { $numberLong: '-1' } },
    { $date: { $numberLong: '253402300800000' } },
    { $numberDecimal: '1.10' },
    { $numberDecimal: 'NaN' },
    { $numberDouble: 'NaN' },
    { $numberDouble: '-Infinity' },
    { $binary: { base64: 'AQI=', subType: '00' } },
    { $binary: { base64: 'AAAAAAAAQACAAAAAAAAAAQ==', subType: '04' } },
    { $timestamp: { t: 42, i: 4_294_967_295 } },
    { $regularExpression: { pattern: '^a', options: 'i' } },
    { $code: 'return 1' },
    { $code: 'return x', $scope: { x: 1 } },
    { $minKey: 1 },
    { $maxKey: 1 },
    { $ref: 'others', $id: { $oid: '65a1b2c3d4e5f60718293a4b' } },
  ])('%j is stored as what it is and read as it was', (value) => {
    const record = { value, list: [value], nested: { value } };
    expect(stored(record)).toEqual(record);
    // What the vendor's own reader of this form makes of it.
    const theirs = BSON.serialize(BSON.EJSON.deserialize(record) as object);
    expect(Buffer.from(BSON.serialize(bsonOfFields(record))).equals(theirs)).toBe(true);
  });

  test.each<[JsonObject, unknown]>([
    [{ $numberLong: '7' }, Long.fromNumber(7)],
    [{ $numberInt: '7' }, new Int32(7)],
    [{ $numberDouble: '7.0' }, new Double(7)],
    [{ $date: 1000 }, new Date(1000)],
    [{ $date: '2024-05-06T09:08:09+02:00' }, new Date('2024-05-06T07:08:09Z')],
    [{ $binary: 'AQI=', $type: '00' }, new Binary(Buffer.from([1, 2]), 0)],
    [{ $undefined: true }, null],
  ])('%j is read in the canonical and older forms', (value, bson) => {
    expect(bsonOfFields({ value })['value']).toEqual(bson);
  });

  test('a UUID is a binary value of its own kind', () => {
    const { value } = bsonOfFields({ value: { $uuid: '00000000-0000-4000-8000-000000000001' } });
    expect(value).toMatchObject({ sub_type: 4 });
  });

  test.each<[JsonObject, RegExp]>([
    [{ $oid: 'x' }, /ObjectId/],
    [{ $date: '2024-02-30T00:00:00Z' }, /date/],
    [{ $numberLong: '99999999999999999999' }, /64 bits/],
    [{ $numberDecimal: '1e99999' }, /decimal/],
    [{ $binary: { base64: '!', subType: '00' } }, /binary/],
    [{ $timestamp: { t: -1, i: 0 } }, /timestamp/],
  ])('%j is refused', (value, why) => {
    expect(() => bsonOfFields({ value })).toThrow(why);
  });

  test.each<JsonObject>([
    { $gt: 5 },
    { $oid: 'x', other: 1 },
    { $ne: { $eq: 1 } },
    { a: 1, $oid: 'x' },
  ])('%j is an object like any other', (value) => {
    expect(stored({ value })).toEqual({ value });
  });
});

describe('numbers', () => {
  const typed = (text: string): unknown => bsonOfFields(parseData(text) as JsonObject)['n'];

  test.each([
    ['{"n":7}', 'int'],
    ['{"n":-2147483648}', 'int'],
    ['{"n":2147483648}', 'long'],
    ['{"n":9223372036854775807}', 'long'],
    ['{"n":1.5}', 'double'],
    ['{"n":1.0}', 'double'],
    ['{"n":9223372036854775808}', 'decimal'],
    ['{"n":0.12345678901234567890123}', 'decimal'],
    ['{"n":123456789012345678901234567890123456789}', 'string'],
  ])('%s is stored as %s, with all its digits', (text, type) => {
    const bytes = BSON.serialize({ n: typed(text) });
    const codes: Record<number, string> = {
      1: 'double',
      2: 'string',
      16: 'int',
      18: 'long',
      19: 'decimal',
    };
    expect(codes[bytes[4] ?? 0]).toBe(type);
    const back = stringifyJson(jsonOfBson(bytes)['n'] ?? null).replace(
      /^.*Decimal":"(.*)"\}$/,
      '$1',
    );
    expect(Number(back.replaceAll('"', ''))).toBe(Number(/:(.*)\}/.exec(text)?.[1]));
    if (type !== 'double') expect(text).toContain(back.replaceAll('"', ''));
  });

  test('of 64 bits are read digit by digit', () => {
    const bytes = BSON.serialize({ a: Long.MAX_VALUE, b: Long.fromNumber(5), c: 0.1 });
    expect(stringifyJson(jsonOfBson(bytes))).toBe('{"a":9223372036854775807,"b":5,"c":0.1}');
    expect(stored(parseJson('{"a":[9223372036854775807]}') as JsonObject)).toEqual({
      a: [9_223_372_036_854_775_807n],
    });
  });

  test('names with a NUL letter are refused, and `__proto__` is a field', () => {
    expect(() => bsonOfFields({ 'a\0b': 1 })).toThrow(/NUL/);
    const record = parseJson('{"__proto__":{"x":1},"y":2}') as JsonObject;
    expect(stringifyJson(stored(record))).toBe('{"__proto__":{"x":1},"y":2}');
  });
});
