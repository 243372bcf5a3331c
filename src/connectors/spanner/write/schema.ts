/** What tables have: columns and keys. */
import { CODES } from '../api.ts';
import type { SpannerLink } from '../link.ts';
import type { Query } from '../statement.ts';
import { columnOf, type SpannerColumn } from '../types/columns.ts';

const STRING = { code: CODES.STRING };

/** A table is named in any case, and those outside of the default schema with their schema. */
function named(table: string, sql: string): Query {
  const dot = table.lastIndexOf('.');
  const [schema, name] = [table.slice(0, Math.max(dot, 0)), table.slice(dot + 1)];
  return {
    sql: `${sql} AND LOWER(c.TABLE_SCHEMA) = LOWER(@schema) AND LOWER(c.TABLE_NAME) = LOWER(@table) ORDER BY c.ORDINAL_POSITION`,
    params: { schema, table: name },
    types: { schema: STRING, table: STRING },
  };
}

const COLUMNS =
  'SELECT c.COLUMN_NAME, c.SPANNER_TYPE, c.IS_NULLABLE, c.COLUMN_DEFAULT, c.IS_GENERATED FROM INFORMATION_SCHEMA.COLUMNS AS c WHERE TRUE';

/** All columns in table order; `undefined` without a table. */
export async function readColumns(
  link: SpannerLink,
  table: string,
): Promise<readonly SpannerColumn[] | undefined> {
  const rows = await link.rows(`reading the columns of \`${table}\``, named(table, COLUMNS));
  if (rows.length === 0) return undefined;
  return rows.map(([name, type, nullable, byDefault, generated]) =>
    columnOf({
      name: String(name),
      type: String(type),
      nullable: nullable === 'YES',
      ...(typeof byDefault === 'string' ? { byDefault } : {}),
      isGenerated: generated !== 'NEVER',
    }),
  );
}

const KEY =
  "SELECT c.COLUMN_NAME FROM INFORMATION_SCHEMA.INDEX_COLUMNS AS c WHERE c.INDEX_TYPE = 'PRIMARY_KEY'";

/** The columns of the primary key, in its order. */
export async function readKey(link: SpannerLink, table: string): Promise<readonly string[]> {
  const rows = await link.rows(`reading the key of \`${table}\``, named(table, KEY));
  return rows.map(([name]) => String(name));
}
