/** The columns that a sink creates. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { backticked } from '../../_google/backticked.ts';
import type { NewColumn } from '../../_sql/driver.ts';
import { SYSTEM } from './fields.ts';

/** For fields of which only values are known. */
export const COLUMN_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'BOOL',
  integer: 'INT64',
  number: 'FLOAT64',
  string: 'STRING(MAX)',
  array: 'JSON',
  object: 'JSON',
};

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
  binary: 'BYTES(MAX)',
  date: 'DATE',
  json: 'JSON',
  list: 'JSON',
  struct: 'JSON',
  map: 'JSON',
};

const NUMERIC = { whole: 29, scale: 9 };

/** A clock without a zone, and digits that no number has, stay texts. */
function typeFor(type: RecordType): string {
  if (type.kind === 'timestamp') return type.zone === undefined ? 'STRING(MAX)' : 'TIMESTAMP';
  if (type.kind !== 'decimal') return SIMPLE[type.kind] ?? 'STRING(MAX)';
  const { precision = Infinity, scale = 0 } = type;
  const fits = scale >= 0 && scale <= NUMERIC.scale && precision - scale <= NUMERIC.whole;
  return fits ? 'NUMERIC' : 'STRING(MAX)';
}

/** The definition of a new column; each may be null. */
export function columnLine({ name, type, field }: NewColumn): string {
  if (field?.native?.system === SYSTEM) return `${backticked(name)} ${field.native.name}`;
  const known = field === undefined ? COLUMN_TYPES[type] : typeFor(field.type);
  return `${backticked(name)} ${known}`;
}
