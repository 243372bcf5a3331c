import { duckdbRows, type DuckDBConnection } from '../../lib/sql/duckdb.ts';
import { jsonText, type JsonObject } from '../../lib/text/json.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { LiveColumn } from '../_sql/driver.ts';

export interface DuckdbColumn extends LiveColumn {
  /** SQL text of the default. */
  readonly fallback: string | undefined;
}

const COLUMNS = `SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns()
  WHERE database_name = current_database() AND schema_name = $1 AND table_name = $2 ORDER BY column_index`;

/** The columns of a table, in its order; `undefined` when there is no such table. */
export async function readColumns(
  connection: DuckDBConnection,
  table: string,
  schema = 'main',
): Promise<DuckdbColumn[] | undefined> {
  const rows = await duckdbRows(connection, COLUMNS, [schema, table]);
  if (rows.length === 0) return undefined;
  return rows.map((row) => ({
    name: jsonText(row['column_name'] ?? null),
    sqlType: jsonText(row['data_type'] ?? null),
    types: typesOf(jsonText(row['data_type'] ?? null)),
    nullable: row['is_nullable'] === true,
    fallback: typeof row['column_default'] === 'string' ? row['column_default'] : undefined,
    ...(typeof row['column_default'] === 'string' ? { hasDefault: true } : {}),
  }));
}

const KEYS = `SELECT constraint_column_names AS columns FROM duckdb_constraints()
  WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')`;

/** The columns of each key of a table. */
export async function readKeys(connection: DuckDBConnection, table: string): Promise<string[][]> {
  const rows = await duckdbRows(connection, KEYS, [table]);
  return rows.map(({ columns }) => (Array.isArray(columns) ? columns.map(jsonText) : []));
}

/** What a column of this type takes without changing it. */
function typesOf(sqlType: string): readonly ColumnType[] {
  if (sqlType === 'JSON') return ['object', 'array', 'string', 'number', 'integer', 'boolean'];
  if (sqlType.endsWith(']')) return ['array'];
  if (/^(STRUCT|MAP|UNION)\b/.test(sqlType)) return ['object'];
  if (sqlType === 'BOOLEAN') return ['boolean'];
  if (/INT/.test(sqlType) && sqlType !== 'INTERVAL') return ['integer'];
  if (/^(FLOAT|DOUBLE|DECIMAL)/.test(sqlType)) return ['number', 'integer'];
  return ['string'];
}

/** The JSON Schema of a table, for discovery. */
export function describeColumns(columns: readonly DuckdbColumn[]): JsonObject {
  const properties: JsonObject = {};
  for (const { name, types, nullable, sqlType } of columns) {
    // Decimals are read as text, so that no digit is lost.
    const type = sqlType.startsWith('DECIMAL') ? 'string' : (types[0] ?? 'string');
    properties[name] = { type: nullable ? [type, 'null'] : type };
  }
  return { type: 'object', properties };
}
