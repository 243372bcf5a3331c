import { askMysql, connectMysql, type SqlValue } from '../../../lib/sql/mysql.ts';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import { mysqlError } from '../../../lib/sql/mysql-errors.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { Discovered } from '../../../kit/source.ts';
import { READING } from './reader.ts';

const COLUMNS = `SELECT t.TABLE_NAME, t.TABLE_ROWS, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE
  FROM information_schema.TABLES AS t
  JOIN information_schema.COLUMNS AS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
  WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
  ORDER BY t.TABLE_NAME, c.ORDINAL_POSITION`;

/** One data set for each table of the database of the address that may be read. */
export async function discoverTables(url: string): Promise<Discovered[]> {
  const connection = await connectMysql({ url, session: READING });
  try {
    const { rows } = await askMysql(connection, COLUMNS);
    return [...Map.groupBy(rows, ([table]) => String(table))].map(([name, columns]) =>
      described(name, columns),
    );
  } catch (error) {
    throw mysqlError(error, 'the tables cannot be listed');
  } finally {
    connection.destroy();
  }
}

function described(name: string, columns: readonly (readonly SqlValue[])[]): Discovered {
  const properties: JsonObject = {};
  for (const [, , column, type, nullable] of columns) {
    const known = jsonType(String(type));
    properties[String(column)] = { type: nullable === 'YES' ? [known, 'null'] : known };
  }
  const rows = columns[0]?.[1] ?? null;
  return {
    name,
    kind: 'table',
    schema: { type: 'object', properties },
    ...(rows === null ? {} : { estimated_rows: Number(rows) }),
    config_patch: { query: `SELECT * FROM ${backticked(name)}` },
  };
}

function jsonType(type: string): string {
  if (/^(?:tinyint\(1\)|bit\(1\))/.test(type)) return 'boolean';
  if (type.startsWith('json')) return 'object';
  if (/^(?:\w*int\b|bit|year)/.test(type)) return 'integer';
  return /^(?:float|double|decimal)/.test(type) ? 'number' : 'string';
}
