/** The types of columns that a sink creates. */
import type { ClientBase } from 'pg';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import type { NewColumn } from '../../_sql/driver.ts';
import { SYSTEM } from '../types/logical-types.ts';

/** For fields of which only values are known. */
export const POSTGRES_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'boolean',
  integer: 'bigint',
  number: 'double precision',
  string: 'text',
  array: 'jsonb',
  object: 'jsonb',
};

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'boolean',
  int8: 'smallint',
  int16: 'smallint',
  int32: 'integer',
  int64: 'bigint',
  uint8: 'smallint',
  uint16: 'integer',
  uint32: 'bigint',
  uint64: 'numeric(20)',
  float32: 'real',
  float64: 'double precision',
  utf8: 'text',
  binary: 'bytea',
  date: 'date',
  time: 'time',
  interval: 'interval',
  uuid: 'uuid',
  json: 'jsonb',
  struct: 'jsonb',
  map: 'jsonb',
};

/** Precisions beyond this are none to the server. */
const MOST_DIGITS = 1000;

function typeFor(type: RecordType): string {
  switch (type.kind) {
    case 'decimal': {
      const { precision = Infinity, scale = 0 } = type;
      return precision > MOST_DIGITS ? 'numeric' : `numeric(${precision},${scale})`;
    }
    case 'timestamp':
      return type.zone === undefined ? 'timestamp' : 'timestamptz';
    case 'list': {
      const item = typeFor(type.item);
      // Lists inside of a list may have different lengths, which no array has.
      return item === 'jsonb' || item.endsWith('[]') ? 'jsonb' : `${item}[]`;
    }
    default:
      return SIMPLE[type.kind] ?? 'text';
  }
}

/**
 * The definitions of new columns: with the type that the column has at the source where that is a
 * PostgreSQL too and this server has the type, otherwise with the one of the logical type.
 */
export async function columnLines(
  client: ClientBase,
  columns: readonly NewColumn[],
): Promise<string[]> {
  const known = await existing(client, columns.flatMap(nativeName));
  return columns.map((column) => {
    const [native] = nativeName(column);
    const name = quoteName(column.name);
    if (native !== undefined && known.has(native)) return `${name} ${native}`;
    const { field, type } = column;
    return `${name} ${field === undefined ? POSTGRES_TYPES[type] : typeFor(field.type)}`;
  });
}

function nativeName({ field }: NewColumn): string[] {
  return field?.native?.system === SYSTEM ? [field.native.name] : [];
}

async function existing(client: ClientBase, names: readonly string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regtype(name) IS NOT NULL',
    [names],
  );
  return new Set(rows.map(({ name }) => name));
}
