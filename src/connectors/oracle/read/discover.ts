import type { Discovered } from '../../../kit/source.ts';
import type { SourceContext } from '../../../kit/context.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { OracleSourceConfig } from '../config.ts';
import { Link, type Cell } from '../connection.ts';
import { oracleError } from '../errors.ts';

/** Tables that the user may read, without those of the database itself. */
const COLUMNS = `SELECT c.owner, c.table_name, c.column_name, c.data_type, c.data_precision, c.data_scale, c.nullable, t.num_rows
  FROM all_tab_cols c JOIN all_tables t ON t.owner = c.owner AND t.table_name = c.table_name
  WHERE c.hidden_column = 'NO' AND c.owner NOT IN (SELECT username FROM all_users WHERE oracle_maintained = 'Y')
  ORDER BY c.owner, c.table_name, c.column_id`;

/** One data set for each table that the user may read. */
export async function discoverTables(
  config: OracleSourceConfig,
  { signal }: SourceContext,
): Promise<Discovered[]> {
  const link = await Link.open(config, { signal, timeoutSecs: config.statement_timeout_secs });
  try {
    const rows = await link.ask(COLUMNS);
    const tables = Map.groupBy(rows, ([owner, table]) => JSON.stringify([owner, table]));
    return [...tables.values()].map(described);
  } catch (error) {
    throw oracleError(error, 'the tables cannot be listed');
  } finally {
    link.close();
  }
}

function described(columns: readonly (readonly Cell[])[]): Discovered {
  const [owner = '', table = ''] = (columns[0] ?? []).map(String);
  const rows = columns[0]?.[7] ?? null;
  const properties: JsonObject = {};
  for (const [, , name, type, precision = null, scale = null, nullable] of columns) {
    const known = jsonType(String(type), precision, scale);
    properties[String(name)] = { type: nullable === 'Y' ? [known, 'null'] : known };
  }
  return {
    name: `${owner}.${table}`,
    kind: 'table',
    schema: { type: 'object', properties },
    ...(rows === null ? {} : { estimated_rows: Number(rows) }),
    config_patch: { query: `SELECT * FROM ${quoteName(owner)}.${quoteName(table)}` },
  };
}

function jsonType(type: string, precision: Cell, scale: Cell): string {
  if (type === 'BOOLEAN') return 'boolean';
  if (type === 'JSON') return 'object';
  if (type === 'NUMBER') return precision !== null && Number(scale) <= 0 ? 'integer' : 'number';
  return /^(?:FLOAT|BINARY_FLOAT|BINARY_DOUBLE)$/.test(type) ? 'number' : 'string';
}
