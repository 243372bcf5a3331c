import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import * as wire from '@bufbuild/protobuf/wire';
import {
  AnySchema,
  ApiSchema,
  BoolValueSchema,
  FieldMaskSchema,
  Int32ValueSchema,
  StructSchema,
  TimestampSchema,
} from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { decoded, encoded, INSTANT, messageType, named, one, some, told } from './messages.ts';

// What the library makes of the descriptions that Google publishes is the measure.

it('writes what others read', () => {
  const instant = { seconds: -62_135_596_800n, nanos: 999_999_999 };
  expect(fromBinary(TimestampSchema, encoded(wire, INSTANT, instant))).toMatchObject(instant);
  const paths = messageType<{ paths: string[] }>({ paths: some(1, 'string') });
  const mask = encoded(wire, paths, { paths: ['a', '', 'ü'] });
  expect(fromBinary(FieldMaskSchema, mask).paths).toEqual(['a', '', 'ü']);
  const any = messageType<{ url: string; value: Uint8Array }>({
    url: one(1, 'string'),
    value: one(2, 'bytes'),
  });
  const value = Buffer.from([0, 255]);
  expect(fromBinary(AnySchema, encoded(wire, any, { url: 'u', value }))).toMatchObject({
    typeUrl: 'u',
    value,
  });
  const flag = messageType<{ value: boolean }>({ value: one(1, 'bool') });
  expect(fromBinary(BoolValueSchema, encoded(wire, flag, { value: true })).value).toBe(true);
  const texts = messageType<{ fields: object }>({
    fields: named(1, messageType<{ text: string }>({ text: one(3, 'string') })),
  });
  const struct = encoded(wire, texts, {
    fields: { a: { text: 'x' }, ['__proto__']: { text: 'y' } },
  });
  expect(Object.keys(fromBinary(StructSchema, struct).fields)).toContain('a');
});

it('reads what others write, and leaves out what it does not know', () => {
  const api = create(ApiSchema, {
    name: 'pubsub',
    methods: [{ name: 'Pull', responseStreaming: true }, { name: 'Acknowledge' }],
    version: 'v1',
    sourceContext: { fileName: 'pubsub.proto' },
  });
  const type = messageType<{ methods: object[]; source: object | undefined; version: string }>({
    methods: some(
      2,
      messageType<{ name: string; streams: boolean }>({
        name: one(1, 'string'),
        streams: one(5, 'bool'),
      }),
    ),
    source: told(5, messageType<{ file: string }>({ file: one(1, 'string') })),
    version: one(4, 'string'),
  });
  expect(decoded(wire, type, toBinary(ApiSchema, api))).toEqual({
    methods: [
      { name: 'Pull', streams: true },
      { name: 'Acknowledge', streams: false },
    ],
    source: { file: 'pubsub.proto' },
    version: 'v1',
  });
  const number = messageType<{ value: number }>({ value: one(1, 'int32') });
  const bytes = toBinary(Int32ValueSchema, create(Int32ValueSchema, { value: -7 }));
  expect(decoded(wire, number, bytes)).toEqual({ value: -7 });
});

it('has an empty value for every field that did not come', () => {
  const type = messageType<object & Record<'at' | 'inside' | 'list' | 'map' | 'maybe', unknown>>({
    at: one(1, 'int64'),
    inside: one(2, INSTANT),
    list: some(3, 'bytes'),
    map: named(4, 'string'),
    maybe: told(5, INSTANT),
  });
  expect(decoded(wire, type, new Uint8Array())).toEqual({
    at: 0n,
    inside: { seconds: 0n, nanos: 0 },
    list: [],
    map: {},
  });
});
