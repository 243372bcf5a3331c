/** Rows of the engine in Arrow, with the types that BigQuery gives to columns there. */
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Field as ArrowField,
  Float64,
  Int64,
  IntervalMonthDayNano,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  TimeMicrosecond,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
  type Data,
  type DataType,
} from 'apache-arrow';
import { nullsOf, wordsOf } from '../arrow-data.ts';
import { markOf, type Field } from './types.ts';

type Values = readonly DuckDBValue[];

/** The message of the columns, and that of the rows. */
export function arrowParts(
  fields: readonly Field[],
  rows: readonly Values[],
): { readonly schema: Uint8Array; readonly batch: Uint8Array } {
  const columns = fields.map((field, at) =>
    columnData(
      field,
      rows.map((row) => row[at] ?? null),
    ),
  );
  const schema = new Schema(fields.map((field, at) => arrowField(field, columns[at])));
  const data = makeData({
    type: new Struct(schema.fields),
    length: rows.length,
    children: columns,
  });
  const stream = tableToIPC(new Table(schema, [new RecordBatch(schema, data)]), 'stream');
  const end = MESSAGE_HEAD + Buffer.from(stream.buffer, stream.byteOffset).readInt32LE(4);
  return { schema: stream.slice(0, end), batch: stream.slice(end, -MESSAGE_HEAD) };
}

/** A mark, and the length of what describes the message; without both the stream ends. */
const MESSAGE_HEAD = 8;

function arrowField({ name, mode }: Field, data: Data | undefined): ArrowField {
  return new ArrowField(name, data?.type as DataType, mode !== 'REQUIRED');
}

function columnData(field: Field, values: Values): Data {
  if (field.mode !== 'REPEATED') return itemData(field, values);
  const lists = values.map((value) => (value instanceof DuckDBListValue ? value.items : []));
  const child = itemData({ ...field, mode: 'NULLABLE' }, lists.flat());
  const valueOffsets = new Int32Array(lists.length + 1);
  for (const [at, items] of lists.entries())
    valueOffsets[at + 1] = (valueOffsets[at] ?? 0) + items.length;
  const type = new List(new ArrowField('item', child.type, true));
  return makeData({ type, length: values.length, nullCount: 0, valueOffsets, child });
}

function itemData(field: Field, values: Values): Data {
  const texts = values.map((value) => (value === null ? null : textOf(field, value)));
  switch (field.type) {
    case 'STRUCT':
      return structData(
        values,
        (field.fields ?? []).map((part) => [
          part.name,
          columnData(
            part,
            values.map((value) =>
              value instanceof DuckDBStructValue ? (value.entries[part.name] ?? null) : null,
            ),
          ),
        ]),
      );
    case 'RANGE':
      return structData(
        values,
        ['start', 'end'].map((name, at) => [
          name,
          boundData(
            field.element ?? 'DATE',
            texts.map((text) => text?.slice(1, -1).split(', ')[at] ?? null),
          ),
        ]),
      );
    case 'INT64':
      return plain(new Int64(), values);
    case 'FLOAT64':
      return plain(new Float64(), values);
    case 'BOOL':
      return plain(new Bool(), values);
    case 'BYTES':
      return plain(
        new Binary(),
        values.map((value) => (value instanceof DuckDBBlobValue ? value.bytes : null)),
      );
    case 'NUMERIC': {
      const type = new Decimal(scaleOf(field, 9), field.precision ?? 38, 128);
      const unscaled = values.map((value) =>
        value instanceof DuckDBDecimalValue
          ? value.value * 10n ** BigInt(type.scale - value.scale)
          : 0n,
      );
      return stored(type, values, wordsOf(unscaled));
    }
    case 'BIGNUMERIC': {
      const type = new Decimal(scaleOf(field, 38), field.precision ?? 76, 256);
      return stored(
        type,
        values,
        wordsOf(
          texts.map((text) => unscaledIn(text, type.scale)),
          256,
        ),
      );
    }
    case 'DATE':
      return stored(
        new DateDay(),
        values,
        Int32Array.from(values, (one) => (one instanceof DuckDBDateValue ? one.days : 0)),
      );
    case 'TIME':
      return stored(
        new TimeMicrosecond(),
        values,
        BigInt64Array.from(values, (one) => (one instanceof DuckDBTimeValue ? one.micros : 0n)),
      );
    case 'DATETIME':
      return stored(new TimestampMicrosecond(null), values, micros(values));
    case 'TIMESTAMP':
      return stored(new TimestampMicrosecond('UTC'), values, micros(values));
    case 'INTERVAL':
      return stored(new IntervalMonthDayNano(), values, Int32Array.from(texts.flatMap(intervalIn)));
    default:
      return plain(new Utf8(), texts);
  }
}

function scaleOf({ precision, scale }: Field, most: number): number {
  return precision === undefined ? most : (scale ?? 0);
}

function textOf(field: Field, value: DuckDBValue): string {
  return String(value instanceof DuckDBStructValue ? value.entries[markOf(field)] : value);
}

function plain(type: DataType, values: readonly unknown[]): Data {
  // The library has no vector of no values.
  if (values.length === 0) return makeData({ type, length: 0, nullCount: 0 } as never);
  return vectorFromArray([...values], type).data[0] as Data;
}

function stored(
  type: DataType,
  values: readonly unknown[],
  data: Uint32Array | Int32Array | BigInt64Array,
): Data {
  return makeData({ type, data, ...nullsOf(values) } as never);
}

function structData(values: Values, parts: readonly (readonly [string, Data])[]): Data {
  const type = new Struct(parts.map(([name, data]) => new ArrowField(name, data.type, true)));
  return makeData({ type, ...nullsOf(values), children: parts.map(([, data]) => data) } as never);
}

function micros(values: Values): BigInt64Array {
  return BigInt64Array.from(values, (one) =>
    one instanceof DuckDBTimestampTZValue || one instanceof DuckDBTimestampValue ? one.micros : 0n,
  );
}

/** Of bounds as the fake stores them: dates and times as texts, instants as microseconds. */
function boundData(element: string, texts: readonly (string | null)[]): Data {
  const bounds = texts.map((text) => (text === null || text === 'UNBOUNDED' ? null : text));
  const numbers = bounds.map((text) => {
    if (text === null) return 0n;
    if (element === 'TIMESTAMP') return BigInt(text);
    const [, whole = '', fraction = ''] = /^([^.]*)(?:\.(\d+))?$/.exec(text) ?? [];
    const ms = Date.parse(element === 'DATE' ? whole : `${whole}Z`);
    return BigInt(ms) * 1000n + BigInt(fraction.padEnd(6, '0'));
  });
  if (element === 'DATE') {
    const days = numbers.map((one) => Number(one / 86_400_000_000n));
    return stored(new DateDay(), bounds, Int32Array.from(days));
  }
  const type = new TimestampMicrosecond(element === 'TIMESTAMP' ? 'UTC' : null);
  return stored(type, bounds, BigInt64Array.from(numbers));
}

function unscaledIn(text: string | null, scale: number): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(text ?? '0') ?? [];
  return BigInt(`${sign}${whole}${fraction.padEnd(scale, '0')}`);
}

/** Months, days, and nanoseconds in two words, of the text of BigQuery. */
function intervalIn(text: string | null): number[] {
  const found = /^(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):(\d+)(?:\.(\d+))?$/.exec(text ?? '');
  if (found === null) return [0, 0, 0, 0];
  const [, monthSign, years, months, days, clockSign, hours, minutes, seconds] = found;
  const clock = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  const size = BigInt(clock) * 1_000_000_000n + BigInt((found[9] ?? '').padEnd(9, '0'));
  const nanos = clockSign === '-' ? -size : size;
  return [
    (monthSign === '-' ? -1 : 1) * (Number(years) * 12 + Number(months)),
    Number(days),
    Number(BigInt.asIntN(32, nanos)),
    Number(BigInt.asIntN(32, nanos >> 32n)),
  ];
}
