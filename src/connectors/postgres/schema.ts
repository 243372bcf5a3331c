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
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

/** The type without its length: a cast to `varchar(3)` would silently cut what an assignment refuses. */
const COLUMNS = `
  SELECT attname AS name, format_type(atttypid, -1) AS type, NOT attnotnull AS nullable
  FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`;

/** The columns that can be written; `undefined` when there is no such table. `table` is quoted and qualified. */
export async function readColumns(client: ClientBase, table: string): Promise<LiveColumn[] | undefined> {
  // A statement of its own: `to_regclass` sees a table somebody just made, the rows a statement reads may be from a moment before.
  const found = await client.query<{ oid: string | null }>('SELECT to_regclass($1)::oid::text AS oid', [table]);
  const oid = found.rows[0]?.oid ?? null;
  if (oid === null) return undefined;
  const { rows } = await client.query<ColumnRow>(COLUMNS, [oid]);
  return rows.map(({ name, type, nullable }) => ({ name, sqlType: type, types: typesOf(type), nullable }));
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
