/**
 * JSON values as MySQL stores them: a kind, then the value; lists and objects hold a table of their
 * members, with the places of values that are longer than a place. (MariaDB stores text.)
 */
import { JSON_NULL } from '../../../lib/text/json-literal.ts';
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { ByteReader } from '../read/byte-reader.ts';
import { decimalShape, readDecimal } from './decimals.ts';
import { packedDate, packedDatetime, packedTime } from './times.ts';

const KIND = {
  smallObject: 0,
  largeObject: 1,
  smallList: 2,
  largeList: 3,
  literal: 4,
  int16: 5,
  uint16: 6,
  int32: 7,
  uint32: 8,
  int64: 9,
  uint64: 10,
  double: 11,
  text: 12,
  opaque: 15,
} as const;

/** Numbers of the column types that a value can keep inside of JSON. */
const TYPE = { timestamp: 7, date: 10, time: 11, datetime: 12, decimal: 246 } as const;
const MOST_DEPTH = 200;

export function readJson(bytes: Buffer): JsonValue {
  // The server may log an empty value where a column that may not be null got none.
  if (bytes.length === 0) return JSON_NULL;
  const value = valueAt(bytes.subarray(1), bytes.readUInt8(0), 0);
  return value === null ? JSON_NULL : value;
}

function valueAt(bytes: Buffer, kind: number, depth: number): JsonValue {
  if (depth > MOST_DEPTH) throw new RangeError('JSON values lie too deep in each other');
  switch (kind) {
    case KIND.smallObject:
    case KIND.largeObject:
      return objectAt(bytes, kind === KIND.largeObject ? 4 : 2, depth);
    case KIND.smallList:
    case KIND.largeList:
      return listAt(bytes, kind === KIND.largeList ? 4 : 2, depth);
    case KIND.literal:
      return literalOf(bytes.readUInt8(0));
    case KIND.text:
      return textAt(bytes);
    case KIND.opaque:
      return opaqueAt(bytes);
    default:
      return numberAt(bytes, kind);
  }
}

function numberAt(bytes: Buffer, kind: number): JsonValue {
  switch (kind) {
    case KIND.int16:
      return bytes.readInt16LE(0);
    case KIND.uint16:
      return bytes.readUInt16LE(0);
    case KIND.int32:
      return bytes.readInt32LE(0);
    case KIND.uint32:
      return bytes.readUInt32LE(0);
    case KIND.int64:
      return new ByteReader(bytes).int64();
    case KIND.uint64:
      return new ByteReader(bytes).uint64();
    case KIND.double:
      return bytes.readDoubleLE(0);
    default:
      throw new RangeError(`JSON has a value of the kind ${kind}`);
  }
}

const LITERALS = [null, true, false] as const;

function literalOf(code: number): JsonValue {
  const value = LITERALS[code];
  if (value === undefined) throw new RangeError(`JSON has the literal ${code}`);
  return value;
}

/** Values that stand in the table itself, where others have their place. */
function isInPlace(kind: number, size: number): boolean {
  if (kind === KIND.literal || kind === KIND.int16 || kind === KIND.uint16) return true;
  return size === 4 && (kind === KIND.int32 || kind === KIND.uint32);
}

interface Table {
  readonly bytes: Buffer;
  /** Of a place, and of a count. */
  readonly size: number;
  readonly depth: number;
}

function entryAt({ bytes, size, depth }: Table, at: number): JsonValue {
  const kind = bytes.readUInt8(at);
  if (isInPlace(kind, size)) return valueAt(bytes.subarray(at + 1), kind, depth + 1);
  return valueAt(bytes.subarray(bytes.readUIntLE(at + 1, size)), kind, depth + 1);
}

function listAt(bytes: Buffer, size: number, depth: number): JsonValue[] {
  const count = bytes.readUIntLE(0, size);
  const table = { bytes, size, depth };
  return Array.from({ length: count }, (_, index) => entryAt(table, 2 * size + index * (1 + size)));
}

function objectAt(bytes: Buffer, size: number, depth: number): JsonObject {
  const count = bytes.readUIntLE(0, size);
  const keys = 2 * size;
  const values = keys + count * (size + 2);
  const found: JsonObject = {};
  for (let index = 0; index < count; index += 1) {
    const key = keys + index * (size + 2);
    const from = bytes.readUIntLE(key, size);
    const name = bytes.toString('utf8', from, from + bytes.readUInt16LE(key + size));
    setField(found, name, entryAt({ bytes, size, depth }, values + index * (1 + size)));
  }
  return found;
}

/** Seven bits of a length in each byte, the lowest first. */
function lengthOf(from: ByteReader): number {
  let length = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = from.uint(1);
    length += (byte & 127) * factor;
    if (byte < 128) return length;
  }
}

function textAt(bytes: Buffer): string {
  const from = new ByteReader(bytes);
  return from.text(lengthOf(from));
}

/** Decimals and times become texts; other values say their type and their bytes. */
function opaqueAt(bytes: Buffer): JsonValue {
  const type = bytes.readUInt8(0);
  const from = new ByteReader(bytes, 1);
  const data = from.take(lengthOf(from));
  switch (type) {
    case TYPE.decimal:
      return readDecimal(
        new ByteReader(data, 2),
        decimalShape(data.readUInt8(0), data.readUInt8(1)),
      );
    case TYPE.time:
      return packedTime(data.readBigInt64LE(0));
    case TYPE.date:
      return packedDate(data.readBigInt64LE(0));
    case TYPE.datetime:
    case TYPE.timestamp:
      return packedDatetime(data.readBigInt64LE(0));
    default:
      return `base64:type${type}:${data.toString('base64')}`;
  }
}
