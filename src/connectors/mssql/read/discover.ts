import type { Discovered } from '../../../kit/source.ts';
import type { SourceContext } from '../../../kit/context.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { Link } from '../../_mssql/connection.ts';
import { mssqlError, numberOf } from '../../_mssql/errors.ts';
import { jsonType } from '../../_mssql/json-type.ts';
import { tableSql } from '../../_mssql/quote.ts';
import type { Cell } from '../../_mssql/result-types.ts';
import type { MssqlSourceConfig } from '../config.ts';

const COLUMNS = `SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.IS_NULLABLE
  FROM INFORMATION_SCHEMA.COLUMNS AS c
  JOIN INFORMATION_SCHEMA.TABLES AS t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
  WHERE t.TABLE_TYPE = 'BASE TABLE'
  ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION`;

const ROWS = `SELECT s.name, t.name, SUM(p.row_count)
  FROM sys.dm_db_partition_stats AS p
  JOIN sys.tables AS t ON t.object_id = p.object_id
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id
  WHERE p.index_id IN (0, 1)
  GROUP BY s.name, t.name`;

/** One data set for each table of the database of the address. */
export async function discoverTables(
  config: MssqlSourceConfig,
  { signal }: SourceContext,
): Promise<Discovered[]> {
  const link = await Link.open(config, { signal, timeoutSecs: config.statement_timeout_secs });
  try {
    const { rows } = await link.ask(COLUMNS);
    const counts = await rowCounts(link);
    const tables = Map.groupBy(rows, ([schema, table]) => placeOf(schema, table));
    return [...tables].map(([place, columns]) => described(columns, counts.get(place)));
  } catch (error) {
    throw mssqlError(error, 'the tables cannot be listed');
  } finally {
    link.close();
  }
}

/** What the server knows of the sizes; nothing where the user may not read that. */
async function rowCounts(link: Link): Promise<ReadonlyMap<string, number>> {
  try {
    const { rows } = await link.ask(ROWS);
    return new Map(rows.map(([schema, table, count]) => [placeOf(schema, table), Number(count)]));
  } catch (error) {
    if (numberOf(error) === 0) throw error;
    return new Map();
  }
}

function placeOf(schema: Cell | undefined, table: Cell | undefined): string {
  return JSON.stringify([schema, table]);
}

function described(columns: readonly (readonly Cell[])[], rows: number | undefined): Discovered {
  const [schema, table] = (columns[0] ?? []).map(String);
  const properties: JsonObject = {};
  for (const [, , name, type, nullable] of columns) {
    const known = jsonType(String(type));
    properties[String(name)] = { type: nullable === 'YES' ? [known, 'null'] : known };
  }
  return {
    name: `${schema}.${table}`,
    kind: 'table',
    schema: { type: 'object', properties },
    ...(rows === undefined ? {} : { estimated_rows: rows }),
    config_patch: {
      query: `SELECT * FROM ${tableSql({ schema: schema ?? '', table: table ?? '' })}`,
    },
  };
}
