/** The columns of a table: what they hold, and those that a sink creates. */
import type { ClientBase } from 'pg';
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { LiveColumn, NewColumn } from '../../_sql/driver.ts';
import type { NameRules } from '../../_sql/column-names.ts';

/** The database folds all names to lower case unless it is set up otherwise. */
export const NAMES: NameRules = { mostBytes: 127, ignoresCase: true };

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly full: string;
  readonly required: boolean;
  readonly filled: boolean;
}

/** With what PostgreSQL 8.0 knows, from which this database comes. */
const COLUMNS = `SELECT a.attname AS name, format_type(a.atttypid, -1) AS type, format_type(a.atttypid, a.atttypmod) AS "full",
    a.attnotnull AS required, a.atthasdef AS filled
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

/** `undefined` when the table does not exist. */
export async function readColumns(
  client: ClientBase,
  schema: string,
  table: string,
): Promise<LiveColumn[] | undefined> {
  const { rows } = await client.query<ColumnRow>(COLUMNS, [schema, table]);
  if (rows.length === 0) return undefined;
  return rows.map(({ name, type, full, required, filled }) => ({
    name,
    sqlType: type,
    ...(full === type ? {} : { limits: full }),
    types: typesOf(type),
    nullable: !required,
    ...(filled ? { hasDefault: true } : {}),
  }));
}

function typesOf(type: string): readonly ColumnType[] {
  if (/^(?:smallint|integer|bigint)$/.test(type)) return ['integer'];
  if (/^(?:real|double precision)$/.test(type)) return ['number'];
  // Exact decimals are sent as text.
  if (type === 'numeric') return ['number', 'string'];
  if (type === 'boolean') return ['boolean'];
  return type === 'super' ? ['object', 'array'] : ['string'];
}

const TEXT = 'VARCHAR(65535)';

const INFERRED: Readonly<Record<ColumnType, string>> = {
  boolean: 'BOOLEAN',
  integer: 'BIGINT',
  number: 'DOUBLE PRECISION',
  string: TEXT,
  array: 'SUPER',
  object: 'SUPER',
};

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'BOOLEAN',
  int8: 'SMALLINT',
  int16: 'SMALLINT',
  int32: 'INTEGER',
  int64: 'BIGINT',
  uint8: 'SMALLINT',
  uint16: 'INTEGER',
  uint32: 'BIGINT',
  uint64: 'NUMERIC(20,0)',
  float32: 'REAL',
  float64: 'DOUBLE PRECISION',
  binary: 'VARBYTE',
  date: 'DATE',
  time: 'TIME',
  uuid: 'VARCHAR(36)',
  json: 'SUPER',
  list: 'SUPER',
  struct: 'SUPER',
  map: 'SUPER',
};

const MOST_DIGITS = 38;
const MOST_SCALE = 37;

function typeFor(type: RecordType): string {
  if (type.kind === 'timestamp') return type.zone === undefined ? 'TIMESTAMP' : 'TIMESTAMPTZ';
  if (type.kind !== 'decimal') return SIMPLE[type.kind] ?? TEXT;
  const { precision = Infinity, scale = 0 } = type;
  // A text keeps the digits that no decimal of the database has.
  return precision <= MOST_DIGITS && scale >= 0 && scale <= MOST_SCALE
    ? `NUMERIC(${precision},${scale})`
    : TEXT;
}

/** The definition of a new column. */
export function columnLine({ name, type, field }: NewColumn): string {
  return `${quoteName(name)} ${field === undefined ? INFERRED[type] : typeFor(field.type)}`;
}
