/** The transforms that make the values of partitions out of those of columns. */
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { bytesOfInteger } from '../../_files/avro/avro-bytes.ts';
import type { Comparable } from '../../_lake/column-bounds.ts';
import { typeText, type IcebergType } from './iceberg-types.ts';
import { murmur3 } from './murmur3.ts';
import { plainOf, recordValueOf } from './single-value.ts';

/** A number, digits, a text; null where there is none. */
export type PartitionValue = Comparable | boolean | null;

export interface Transform {
  /** The type of its values, for a column of this type. */
  readonly result: IcebergType;
  readonly of: (value: JsonValue) => PartitionValue;
}

const TRANSFORM = /^(identity|year|month|day|hour|void|bucket|truncate)(?:\[\s*([1-9]\d*)\s*\])?$/;
const WITH_NUMBER = new Set(['bucket', 'truncate']);

export interface TransformName {
  readonly kind: string;
  readonly number: number;
}

/** `undefined` for a name that is none. */
export function parseTransform(text: string): TransformName | undefined {
  const [, kind, digits] = TRANSFORM.exec(text.trim().toLowerCase()) ?? [];
  if (kind === undefined || WITH_NUMBER.has(kind) !== (digits !== undefined)) return undefined;
  return { kind, number: Number(digits ?? 0) };
}

const INT: IcebergType = { is: 'primitive', name: 'int' };
const DATE: IcebergType = { is: 'primitive', name: 'date' };
const HOUR_US = 3_600_000_000n;
const DAY_US = 24n * HOUR_US;

const IDENTITY = new Set([
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'string',
  'uuid',
  'binary',
]);
const TIMES = new Set(['timestamp', 'timestamptz']);
const DAYS = new Set(['date', ...TIMES]);
const BUCKETS = new Set(['int', 'long', 'date', 'time', ...TIMES, 'string', 'uuid', 'binary']);
const CUTS = new Set(['int', 'long', 'string', 'binary']);
const OF_TYPES: Readonly<Record<string, ReadonlySet<string>>> = {
  identity: IDENTITY,
  year: DAYS,
  month: DAYS,
  day: DAYS,
  hour: TIMES,
  bucket: BUCKETS,
  truncate: CUTS,
};
const OF_DECIMALS = new Set(['identity', 'bucket', 'truncate']);

/** Throws for a transform that is not known, or that columns of this type cannot have. */
export function transformOf(text: string, type: IcebergType, table: string): Transform {
  const name = parseTransform(text);
  if (name === undefined)
    throw new ConnectorError(
      'refused',
      `the table ${table} is partitioned by ${JSON.stringify(text)}, which is not known`,
      { hint: 'have it written by another program' },
    );
  const { kind, number } = name;
  if (kind === 'void') return { result: type, of: () => null };
  const fits =
    type.is === 'decimal'
      ? OF_DECIMALS.has(kind)
      : type.is === 'primitive' && OF_TYPES[kind]?.has(type.name) === true;
  if (!fits)
    throw new ConnectorError(
      'refused',
      `a column of type ${typeText(type)} cannot be partitioned by \`${text}\``,
      { hint: 'choose another transform in `partition_spec`' },
    );
  const made = (of: (plain: Comparable | boolean) => PartitionValue) => (value: JsonValue) => {
    const plain = plainOf(value, type);
    return plain === undefined ? null : of(plain);
  };
  switch (kind) {
    case 'identity':
      return { result: type, of: made((plain) => plain) };
    case 'bucket':
      return {
        result: INT,
        of: made((plain) => (murmur3(hashed(plain, type)) & 0x7fffffff) % number),
      };
    case 'truncate':
      return { result: type, of: made((plain) => cut(plain, number, type)) };
    case 'day':
      return { result: DATE, of: made((plain) => dayOf(plain, type)) };
    case 'hour':
      return { result: INT, of: made((plain) => Number(floored(plain as bigint, HOUR_US))) };
    default:
      return { result: INT, of: made((plain) => monthOrYear(kind, dayOf(plain, type))) };
  }
}

function floored(value: bigint, by: bigint): bigint {
  const below = ((value % by) + by) % by;
  return (value - below) / by;
}

function dayOf(plain: Comparable | boolean, type: IcebergType): number {
  return type.is === 'primitive' && type.name === 'date'
    ? Number(plain)
    : Number(floored(plain as bigint, DAY_US));
}

function monthOrYear(kind: string, day: number): number {
  const date = new Date(day * 86_400_000);
  const years = date.getUTCFullYear() - 1970;
  return kind === 'year' ? years : years * 12 + date.getUTCMonth();
}

function hashed(plain: Comparable | boolean, type: IcebergType): Uint8Array {
  if (type.is === 'decimal') return bytesOfInteger(BigInt(plain)) ?? Buffer.alloc(0);
  const name = type.is === 'primitive' ? type.name : '';
  if (name === 'string') return Buffer.from(String(plain));
  if (name === 'uuid') return Buffer.from(String(plain).replaceAll('-', ''), 'hex');
  if (name === 'binary') return Buffer.from(String(plain), 'base64');
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(plain));
  return bytes;
}

function cut(plain: Comparable | boolean, width: number, type: IcebergType): PartitionValue {
  if (type.is === 'primitive' && type.name === 'string')
    return Array.from(String(plain)).slice(0, width).join('');
  if (type.is === 'primitive' && type.name === 'binary')
    return Buffer.from(String(plain), 'base64').subarray(0, width).toString('base64');
  const value = BigInt(plain);
  const below = ((value % BigInt(width)) + BigInt(width)) % BigInt(width);
  return value - below;
}

/** For the names of folders. */
export function partitionText(value: PartitionValue, { result }: Transform, kind: string): string {
  if (value === null) return 'null';
  if (kind === 'year') return String(1970 + Number(value));
  if (kind === 'month') {
    const months = Number(value);
    const year = 1970 + Math.floor(months / 12);
    return `${year}-${String((((months % 12) + 12) % 12) + 1).padStart(2, '0')}`;
  }
  if (kind === 'hour')
    return new Date(Number(value) * 3_600_000).toISOString().slice(0, 13).replace('T', '-');
  return jsonText(recordValueOf(value, result));
}
