import type { DatabaseSync } from 'node:sqlite';
import type { JsonObject } from '../../lib/text/json.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { LiveColumn } from '../_sql/driver.ts';

export const SQLITE_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'INTEGER',
  integer: 'INTEGER',
  number: 'REAL',
  string: 'TEXT',
  array: 'TEXT',
  object: 'TEXT',
};

export interface SqliteColumn extends LiveColumn {
  /** Default value, as SQL text. */
  readonly fallback: string | undefined;
}

/** The columns that can be written; `undefined` when the table does not exist. */
export function readColumns(db: DatabaseSync, table: string): SqliteColumn[] | undefined {
  const rows = db
    .prepare('SELECT name, type, "notnull", dflt_value, hidden, pk FROM pragma_table_xinfo(?)')
    .all(table);
  if (rows.length === 0) return undefined;
  const keys = rows.filter((row) => row['pk'] !== 0).length;
  return rows
    .filter((row) => row['hidden'] === 0)
    .map((row) => ({
      name: String(row['name']),
      sqlType: String(row['type']),
      types: typesOf(String(row['type'])),
      nullable: row['notnull'] === 0,
      ...(row['dflt_value'] !== null || isRowId(row, keys) ? { hasDefault: true } : {}),
      fallback: row['dflt_value'] === null ? undefined : String(row['dflt_value']),
    }));
}

/** The column is the row id, which SQLite makes up. */
function isRowId(row: Readonly<Record<string, unknown>>, keys: number): boolean {
  return keys === 1 && row['pk'] === 1 && /^integer$/i.test(String(row['type']));
}

/** The types that a column of this declared type stores unchanged (type affinity). */
function typesOf(declared: string): readonly ColumnType[] {
  if (/int/i.test(declared)) return ['integer', 'boolean'];
  if (/char|clob|text/i.test(declared)) return ['string', 'array', 'object'];
  if (declared === '' || /blob/i.test(declared))
    return ['boolean', 'integer', 'number', 'string', 'array', 'object'];
  if (/real|floa|doub/i.test(declared)) return ['number'];
  return ['number', 'boolean'];
}

/** The JSON Schema of a table, for discovery. */
export function describeColumns(db: DatabaseSync, table: string): JsonObject {
  const properties: JsonObject = {};
  for (const column of readColumns(db, table) ?? []) {
    const type = jsonType(column.sqlType);
    // A column without a declared type can hold values of any type.
    properties[column.name] =
      column.sqlType === '' ? {} : { type: column.nullable ? [type, 'null'] : type };
  }
  return { type: 'object', properties };
}

function jsonType(declared: string): string {
  if (/^bool/i.test(declared)) return 'boolean';
  if (/json/i.test(declared)) return 'object';
  if (/int|serial/i.test(declared)) return 'integer';
  return /real|floa|doub|dec|numeric|money/i.test(declared) ? 'number' : 'string';
}
