/** Rows of the engine as a stream of Arrow, with the types that Databricks gives to columns there. */
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  List,
  makeData,
  makeVector,
  Table,
  tableToIPC,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { nullsOf, wordsOf } from '../arrow-data.ts';
import type { Column } from './rows.ts';

type Values = readonly DuckDBValue[];

export function arrowStream(columns: readonly Column[], rows: readonly Values[]): Uint8Array {
  const vectors = columns.map((column, at) =>
    vectorOf(
      column,
      rows.map((row) => row[at] ?? null),
    ),
  );
  // Names may be equal, and are not looked at.
  return tableToIPC(new Table(Object.fromEntries(vectors.map((one, at) => [at, one]))), 'stream');
}

const LEAST = [Int8, Int16, Int32, Int64];
const INTEGERS = ['TINYINT', 'SMALLINT', 'INT', 'BIGINT'];

function vectorOf({ type_text: type, type_precision, type_scale }: Column, values: Values): Vector {
  const integer = LEAST[INTEGERS.indexOf(type)];
  if (integer !== undefined) return vectorFromArray(values as number[], new integer());
  switch (type.replace(/\(.*/, '')) {
    case 'BOOLEAN':
      return vectorFromArray(values as boolean[], new Bool());
    case 'FLOAT':
      return vectorFromArray(values as number[], new Float32());
    case 'DOUBLE':
      return vectorFromArray(values as number[], new Float64());
    case 'BINARY':
      return vectorFromArray(
        values.map((one) => (one instanceof DuckDBBlobValue ? one.bytes : null)),
        new Binary(),
      );
    case 'DECIMAL':
      return stored(
        values,
        new Decimal(type_scale ?? 0, type_precision ?? 38, 128),
        wordsOf(values.map((one) => (one instanceof DuckDBDecimalValue ? one.value : 0n))),
      );
    case 'DATE':
      return stored(
        values,
        new DateDay(),
        Int32Array.from(values, (one) => (one instanceof DuckDBDateValue ? one.days : 0)),
      );
    case 'TIMESTAMP':
      return stored(values, new TimestampMicrosecond('Etc/UTC'), micros(values));
    case 'TIMESTAMP_NTZ':
      return stored(values, new TimestampMicrosecond(null), micros(values));
    case 'STRING':
    case 'VARIANT':
      return vectorFromArray(
        values.map((one) => (one === null ? null : String(one))),
        new Utf8(),
      );
    default:
      // Lists, maps and the like come with types of their own; what is in them is not looked at.
      return vectorFromArray(
        values.map(() => [0]),
        new List(Field.new('item', new Int32())),
      );
  }
}

function stored(
  values: Values,
  type: Decimal | DateDay | TimestampMicrosecond,
  data: Uint32Array | Int32Array | BigInt64Array,
): Vector {
  return makeVector(makeData({ type, data, ...nullsOf(values) } as never));
}

function micros(values: Values): BigInt64Array {
  return BigInt64Array.from(values, (one) =>
    one instanceof DuckDBTimestampTZValue || one instanceof DuckDBTimestampValue ? one.micros : 0n,
  );
}
