/** Single values as bytes, in which metadata keeps the bounds of columns. */
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import {
  dateText,
  daysOf,
  nanosOfTime,
  nanosOfTimestamp,
  timestampText,
  timeText,
} from '../../../lib/time/iso-text.ts';
import { bytesOfInteger } from '../../_files/avro/avro-bytes.ts';
import { decimalText, signedNumber, unscaledOf } from '../../_files/parquet/exact-values.ts';
import type { Comparable, Comparison } from '../../_lake/column-bounds.ts';
import type { IcebergType } from './iceberg-types.ts';

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  int: { as: 'number' },
  long: { as: 'number' },
  float: { as: 'number' },
  double: { as: 'number' },
  string: { as: 'text' },
  date: { as: 'day' },
  time: { as: 'time' },
  timestamp: { as: 'moment' },
  timestamptz: { as: 'moment' },
};

/** `undefined` for types whose values have no bounds here. */
export function comparisonOf(type: IcebergType): Comparison | undefined {
  if (type.is === 'decimal') return { as: 'decimal', scale: type.scale };
  return type.is === 'primitive' ? COMPARISONS[type.name] : undefined;
}

/** A value of a record as the number, the digits or the text that stands for it. */
export function plainOf(value: JsonValue, type: IcebergType): Comparable | boolean | undefined {
  if (value === null) return undefined;
  if (type.is === 'decimal') return unscaledOf(jsonText(value), type.scale);
  if (typeof value === 'boolean') return value;
  if (type.is !== 'primitive') return typeof value === 'string' ? value : undefined;
  switch (type.name) {
    case 'date':
      return daysOf(jsonText(value));
    case 'time':
      return micros(nanosOfTime(jsonText(value)));
    case 'timestamp':
    case 'timestamptz':
      return micros(nanosOfTimestamp(jsonText(value)));
    default:
      return typeof value === 'object' ? undefined : value;
  }
}

/** The value of a record that such a number, digits or text stand for. */
export function recordValueOf(plain: Comparable | boolean, type: IcebergType): JsonValue {
  if (type.is === 'decimal') return decimalText(BigInt(plain), type.scale);
  if (type.is !== 'primitive') return plain;
  switch (type.name) {
    case 'date':
      return dateText(Number(plain));
    case 'time':
      return timeText(BigInt(plain) * NANOS);
    case 'timestamp':
    case 'timestamptz':
      return timestampText(BigInt(plain) * NANOS, type.name === 'timestamptz');
    default:
      return plain;
  }
}

const NANOS = 1000n;

function micros(nanos: bigint | undefined): bigint | undefined {
  if (nanos === undefined) return undefined;
  const below = ((nanos % NANOS) + NANOS) % NANOS;
  return (nanos - below) / NANOS;
}

/** `undefined` for types that have no such bytes here. */
export function bytesOfPlain(plain: Comparable | boolean, type: IcebergType): Buffer | undefined {
  if (type.is === 'decimal') return bytesOfInteger(BigInt(plain));
  if (type.is !== 'primitive') return undefined;
  switch (type.name) {
    case 'boolean':
      return Buffer.from([plain === true ? 1 : 0]);
    case 'int':
    case 'date':
      return written(4, (bytes) => bytes.writeInt32LE(Number(plain)));
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
      return written(8, (bytes) => bytes.writeBigInt64LE(BigInt(plain)));
    case 'float':
      return written(4, (bytes) => bytes.writeFloatLE(Number(plain)));
    case 'double':
      return written(8, (bytes) => bytes.writeDoubleLE(Number(plain)));
    case 'string':
      return Buffer.from(String(plain));
    default:
      return undefined;
  }
}

function written(size: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(size);
  write(bytes);
  return bytes;
}

/** The reverse, in the form in which `column-bounds.ts` compares values; nanoseconds of times. */
export function comparableOfBytes(bytes: Buffer, type: IcebergType): Comparable | undefined {
  if (type.is === 'decimal') return bytes.length === 0 ? undefined : signedNumber(bytes);
  if (type.is !== 'primitive') return undefined;
  const wide = bytes.length === 8;
  switch (type.name) {
    case 'date':
    case 'int':
      return bytes.length === 4 ? bytes.readInt32LE() : undefined;
    case 'long':
      // Bounds of files that are older than a change from `int`.
      return wide ? bytes.readBigInt64LE() : bytes.length === 4 ? bytes.readInt32LE() : undefined;
    case 'time':
    case 'timestamp':
    case 'timestamptz':
      return wide ? bytes.readBigInt64LE() * NANOS : undefined;
    case 'float':
      return bytes.length === 4 ? bytes.readFloatLE() : undefined;
    case 'double':
      return wide ? bytes.readDoubleLE() : bytes.length === 4 ? bytes.readFloatLE() : undefined;
    case 'string':
      return bytes.toString('utf8');
    default:
      return undefined;
  }
}
