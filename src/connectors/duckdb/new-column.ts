/** The columns that tables are created with. */
import { DUCKDB_SYSTEM, duckdbTypeFor } from '../../kit/duckdb-types.ts';
import type { ColumnType } from '../../kit/sink.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import type { NewColumn } from '../_sql/driver.ts';

/** For fields of which only values are known. */
export const DUCKDB_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'BOOLEAN',
  integer: 'BIGINT',
  number: 'DOUBLE',
  string: 'VARCHAR',
  array: 'JSON',
  object: 'JSON',
};

/** The definition of a new column. */
export function columnLine({ name, type, field }: NewColumn): string {
  if (field?.native?.system === DUCKDB_SYSTEM) return `${quoteName(name)} ${field.native.name}`;
  const sqlType = field === undefined ? DUCKDB_TYPES[type] : duckdbTypeFor(field.type);
  return `${quoteName(name)} ${sqlType}`;
}
