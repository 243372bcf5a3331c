import type { ClientBase } from 'pg';
import type { ColumnType } from '../../kit/sink.ts';
import type { LiveColumn } from '../_sql/driver.ts';

export const POSTGRES_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'boolean',
  integer: 'bigint',
  number: 'double precision',
  string: 'text',
  array: 'jsonb',
  object: 'jsonb',
};

interface ColumnRow {
  readonly exists: boolean;
  readonly name: string | null;
  readonly type: string;
  readonly nullable: boolean;
}

/** The type without its length: a cast to `varchar(3)` would silently cut what an assignment refuses. */
const COLUMNS = `
  SELECT to_regclass($1) IS NOT NULL AS exists, a.attname AS name, format_type(a.atttypid, -1) AS type, NOT a.attnotnull AS nullable
  FROM (SELECT 1) AS one
  LEFT JOIN pg_attribute a ON a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  ORDER BY a.attnum`;

/** The columns that can be written; `undefined` when there is no such table. `table` is quoted and qualified. */
export async function readColumns(client: ClientBase, table: string): Promise<LiveColumn[] | undefined> {
  const { rows } = await client.query<ColumnRow>(COLUMNS, [table]);
  if (rows[0]?.exists !== true) return undefined;
  return rows.flatMap(({ name, type, nullable }) => (name === null ? [] : [{ name, sqlType: type, types: typesOf(type), nullable }]));
}

function typesOf(type: string): readonly ColumnType[] {
  if (/^(smallint|integer|bigint)$/.test(type)) return ['integer'];
  if (/^(real|double precision)$/.test(type)) return ['number'];
  // Exact decimals travel as text.
  if (type === 'numeric') return ['number', 'string'];
  if (type === 'boolean') return ['boolean'];
  if (/^jsonb?$/.test(type)) return ['object', 'array'];
  return type.endsWith('[]') ? ['array', 'string'] : ['string'];
}
