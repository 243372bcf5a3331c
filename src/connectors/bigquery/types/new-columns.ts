/** The columns that a sink creates. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import type { NewColumn } from '../../_sql/driver.ts';
import { backticked } from '../../_google/backticked.ts';
import { SYSTEM } from './fields.ts';

/** For fields of which only values are known. */
export const COLUMN_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'BOOL',
  integer: 'INT64',
  number: 'FLOAT64',
  string: 'STRING',
  array: 'JSON',
  object: 'JSON',
};

/** A list becomes JSON: an `ARRAY` holds no nulls, and is never null itself. */
const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'BOOL',
  int8: 'INT64',
  int16: 'INT64',
  int32: 'INT64',
  int64: 'INT64',
  uint8: 'INT64',
  uint16: 'INT64',
  uint32: 'INT64',
  uint64: 'NUMERIC',
  float32: 'FLOAT64',
  float64: 'FLOAT64',
  binary: 'BYTES',
  date: 'DATE',
  time: 'TIME',
  interval: 'INTERVAL',
  json: 'JSON',
  list: 'JSON',
  struct: 'JSON',
  map: 'JSON',
};

const NUMERIC = { whole: 29, scale: 9 };
const BIGNUMERIC = { whole: 38, scale: 38 };

function typeFor(type: RecordType): string {
  if (type.kind === 'timestamp') return type.zone === undefined ? 'DATETIME' : 'TIMESTAMP';
  if (type.kind !== 'decimal') return SIMPLE[type.kind] ?? 'STRING';
  const { precision = Infinity, scale = 0 } = type;
  const fits = ({ whole, scale: most }: typeof NUMERIC): boolean =>
    scale >= 0 && scale <= most && precision - scale <= whole && precision >= Math.max(1, scale);
  if (fits(NUMERIC)) return `NUMERIC(${precision}, ${scale})`;
  // A text keeps the digits that no number of BigQuery has.
  return fits(BIGNUMERIC) ? `BIGNUMERIC(${precision}, ${scale})` : 'STRING';
}

/** The definition of a new column; each may be null. */
export function columnLine({ name, type, field }: NewColumn): string {
  if (field?.native?.system === SYSTEM) return `${backticked(name)} ${field.native.name}`;
  const known = field === undefined ? COLUMN_TYPES[type] : typeFor(field.type);
  return `${backticked(name)} ${known}`;
}
