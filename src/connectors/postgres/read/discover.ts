import { connectPostgres, postgresError } from '../../../lib/sql/postgres.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { Discovered } from '../../../kit/source.ts';

interface ColumnRow {
  readonly schema: string;
  readonly table: string;
  readonly rows: number;
  readonly column: string | null;
  readonly type: string;
  readonly nullable: boolean;
}

const COLUMNS = `
  SELECT n.nspname AS schema, c.relname AS "table", c.reltuples::float8 AS rows,
         a.attname AS "column", format_type(a.atttypid, -1) AS type, NOT a.attnotnull AS nullable
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%'
    AND has_table_privilege(c.oid, 'SELECT')
  ORDER BY 1, 2, a.attnum`;

/** One data set for each table that may be read. */
export async function discoverTables(url: string): Promise<Discovered[]> {
  const client = await connectPostgres({ url });
  try {
    const { rows } = await client.query<ColumnRow>(COLUMNS);
    return [...Map.groupBy(rows, (row) => `${row.schema}.${row.table}`)].map(([name, columns]) =>
      describe(name, columns),
    );
  } catch (error) {
    throw postgresError(error, 'the tables cannot be listed');
  } finally {
    await client.end().catch(() => {});
  }
}

function describe(name: string, columns: readonly ColumnRow[]): Discovered {
  const [first] = columns;
  const properties: JsonObject = {};
  for (const { column, type, nullable } of columns) {
    if (column !== null)
      properties[column] = { type: nullable ? [jsonType(type), 'null'] : jsonType(type) };
  }
  const found = {
    name,
    kind: 'table',
    schema: { type: 'object', properties },
    config_patch: {
      query: `SELECT * FROM ${quoteName(first?.schema ?? '')}.${quoteName(first?.table ?? '')}`,
    },
  };
  // -1 means that the table was never analysed.
  return first === undefined || first.rows < 0 ? found : { ...found, estimated_rows: first.rows };
}

function jsonType(type: string): string {
  if (type.endsWith('[]')) return 'array';
  if (type === 'boolean') return 'boolean';
  if (/^jsonb?$/.test(type)) return 'object';
  if (/^(smallint|integer|bigint)$/.test(type)) return 'integer';
  return /^(real|double precision|numeric|money)$/.test(type) ? 'number' : 'string';
}
