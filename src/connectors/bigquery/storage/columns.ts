/** Columns of Arrow as values of records: the same as those of results that come by pages. */
import type { Data, DataType, Field, RecordBatch } from 'apache-arrow';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { jsonText, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { Arrow } from '../../_arrow/batches.ts';
import { cellOf, type Cell } from '../../_arrow/cells.ts';
import { document } from '../../_google/cells.ts';
import { sqlType, type TableField } from '../types/fields.ts';
import { intervalOf } from '../types/intervals.ts';
import { withoutZeros } from '../types/read-values.ts';

/** The fields that a session gives, in its order; of a struct only those that were selected. */
export function fieldsGiven(
  known: readonly TableField[],
  given: readonly Field[],
): readonly TableField[] {
  return given.map(({ name, type }) => {
    const field = known.find((one) => inOneCase(one.name) === inOneCase(name));
    if (field === undefined)
      throw new ConnectorError('data', `the session gives \`${name}\`, which the table has not`, {
        hint: 'run it again: the columns of the table may have changed',
      });
    if (field.type !== 'STRUCT') return field;
    const [inner] = field.isRepeated ? childrenOf(type).map((item) => item.type) : [type];
    return { ...field, fields: fieldsGiven(field.fields, childrenOf(inner)) };
  });
}

function childrenOf(type: DataType | undefined): readonly Field[] {
  return (type?.children ?? []) as readonly Field[];
}

export function recordsOf(
  arrow: Arrow,
  batch: RecordBatch,
  fields: readonly TableField[],
): JsonObject[] {
  const records = Array.from({ length: batch.numRows }, (): JsonObject => ({}));
  for (const [at, field] of fields.entries()) {
    const read = columnOf(arrow, field, batch.data.children[at]);
    for (const [row, record] of records.entries()) setField(record, field.name, read(row));
  }
  return records;
}

/** Knows of nulls. */
function columnOf(arrow: Arrow, field: TableField, data: Data | undefined): Cell {
  if (data === undefined) throw unread(field, undefined);
  return field.isRepeated ? listOf(arrow, field, data) : nullable(data, itemOf(arrow, field, data));
}

function nullable(data: Data, read: Cell): Cell {
  return (row) => (data.getValid(row) ? read(row) : null);
}

/** A list is never null in BigQuery. */
function listOf(arrow: Arrow, field: TableField, data: Data): Cell {
  const [items] = data.children;
  if (!arrow.DataType.isList(data.type) || items === undefined) throw unread(field, data.type);
  const read = nullable(items, itemOf(arrow, field, items));
  return (row) => {
    if (!data.getValid(row)) return [];
    const [from = 0, to = 0] = data.valueOffsets.subarray(row, row + 2);
    return Array.from({ length: to - from }, (_, at) => read(from + at));
  };
}

/** Never called for null. */
function itemOf(arrow: Arrow, field: TableField, data: Data): Cell {
  if (field.type === 'STRUCT') return structOf(arrow, field, data);
  if (field.type === 'RANGE') return rangeOf(arrow, field, data);
  const { type } = data;
  const { DataType } = arrow;
  if (field.type === 'INTERVAL' && DataType.isInterval(type)) return intervalIn(data);
  const cell = fits(arrow, field, type) ? cellOf(arrow, data) : undefined;
  if (cell === undefined) throw unread(field, type);
  switch (field.type) {
    case 'NUMERIC':
    case 'BIGNUMERIC':
      return (row) => withoutZeros(jsonText(cell(row)));
    case 'JSON':
      return (row) => document(cell(row));
    default:
      return cell;
  }
}

/** Whether the column comes as BigQuery says that it does. */
function fits({ DataType }: Arrow, { type }: TableField, arrow: DataType): boolean {
  switch (type) {
    case 'INT64':
      return DataType.isInt(arrow);
    case 'FLOAT64':
      return DataType.isFloat(arrow);
    case 'BOOL':
      return DataType.isBool(arrow);
    case 'NUMERIC':
    case 'BIGNUMERIC':
      return DataType.isDecimal(arrow);
    case 'BYTES':
      return DataType.isBinary(arrow) || DataType.isLargeBinary(arrow);
    case 'DATE':
      return DataType.isDate(arrow);
    case 'TIME':
      return DataType.isTime(arrow);
    case 'DATETIME':
      return DataType.isTimestamp(arrow) && !hasZone(arrow.timezone);
    case 'TIMESTAMP':
      return DataType.isTimestamp(arrow) && hasZone(arrow.timezone);
    case 'INTERVAL':
      return false;
    default:
      return DataType.isUtf8(arrow) || DataType.isLargeUtf8(arrow);
  }
}

function hasZone(zone: string | null | undefined): boolean {
  return zone !== null && zone !== undefined && zone !== '';
}

function structOf(arrow: Arrow, field: TableField, data: Data): Cell {
  if (!arrow.DataType.isStruct(data.type)) throw unread(field, data.type);
  const parts = field.fields.map((part, at) => ({
    name: part.name,
    read: columnOf(arrow, part, data.children[at]),
  }));
  return (row) => {
    const record: JsonObject = {};
    for (const { name, read } of parts) setField(record, name, read(row));
    return record;
  };
}

/** A bound that is null has no end. */
function rangeOf(arrow: Arrow, field: TableField, data: Data): Cell {
  if (!arrow.DataType.isStruct(data.type)) throw unread(field, data.type);
  const bound: TableField = { ...field, type: field.element ?? 'DATE', isRepeated: false };
  const names = childrenOf(data.type).map(({ name }) => name);
  const [start, end] = ['start', 'end'].map((name) =>
    columnOf(arrow, bound, data.children[names.indexOf(name)]),
  ) as [Cell, Cell];
  const text = (value: JsonValue): string => (value === null ? 'UNBOUNDED' : jsonText(value));
  return (row) => `[${text(start(row))}, ${text(end(row))})`;
}

const INTERVAL_WORDS = 4;
const NANOS_OF_MICRO = 1000n;

/** Months, days, and nanoseconds in two words. */
function intervalIn(data: Data): Cell {
  const words = data.values as Int32Array;
  return (row) => {
    const [months = 0, days = 0, low = 0, high = 0] = words.subarray(
      row * INTERVAL_WORDS,
      (row + 1) * INTERVAL_WORDS,
    );
    const nanos = (BigInt(high) << 32n) | BigInt(low >>> 0);
    return intervalOf({
      months: BigInt(months),
      days: BigInt(days),
      micros: nanos / NANOS_OF_MICRO,
    });
  };
}

interface Described {
  toString(): string;
}

function unread(field: TableField, type: Described | undefined): ConnectorError {
  return new ConnectorError(
    'data',
    `the column \`${field.name}\` (${sqlType(field)}) comes as ${type?.toString() ?? 'nothing'}, which is not read`,
    { hint: 'set `read_api: false`, or select a text of it in a query' },
  );
}
