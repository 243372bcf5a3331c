import type { ClientBase } from 'pg';
import type { ColumnType } from '../../../kit/sink.ts';
import { refuseLongNames, type NameRules } from '../../_sql/column-names.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import { NAME_BYTES } from '../../_sql/table-names.ts';
import type { PostgresSinkConfig } from '../config.ts';

export const NAMES: NameRules = { mostBytes: NAME_BYTES, ignoresCase: false };

export function refuseConfiguredNames({
  table_name,
  schema,
  column_mapping,
  key,
}: PostgresSinkConfig): void {
  refuseLongNames([table_name], NAMES, 'table');
  refuseLongNames(schema === undefined ? [] : [schema], NAMES, 'schema');
  refuseLongNames(column_mapping.kind === 'json' ? [column_mapping.column] : key, NAMES);
}

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly base: string;
  readonly limits: string;
  readonly nullable: boolean;
  readonly settable: boolean;
  readonly has_default: boolean;
}

/**
 * The type without its length: a cast to `varchar(3)` would silently truncate values that an
 * assignment refuses.
 */
const COLUMNS = `
  SELECT attname AS name, format_type(atttypid, -1) AS type, ${baseTypeOf('atttypid')} AS base, ${limitsOf('atttypid', 'atttypmod')} AS limits, NOT attnotnull AS nullable, attidentity <> 'a' AS settable,
    atthasdef OR attidentity <> '' AS has_default
  FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`;

/** The type behind a domain, which may be one over another domain. */
function baseTypeOf(oid: string): string {
  return `(WITH RECURSIVE behind AS (
    SELECT oid, typtype, typbasetype FROM pg_type WHERE oid = ${oid}
    UNION ALL SELECT t.oid, t.typtype, t.typbasetype FROM behind JOIN pg_type AS t ON t.oid = behind.typbasetype WHERE behind.typtype = 'd'
  ) SELECT format_type(oid, -1) FROM behind WHERE typtype <> 'd')`;
}

/** The type behind a domain with its length or precision, which the innermost domain has. */
function limitsOf(oid: string, modifier: string): string {
  return `(WITH RECURSIVE behind AS (
    SELECT oid, typtype, typbasetype, typtypmod, ${modifier} AS modifier FROM pg_type WHERE oid = ${oid}
    UNION ALL SELECT t.oid, t.typtype, t.typbasetype, t.typtypmod, behind.typtypmod FROM behind JOIN pg_type AS t ON t.oid = behind.typbasetype WHERE behind.typtype = 'd'
  ) SELECT format_type(oid, modifier) FROM behind WHERE typtype <> 'd')`;
}

/**
 * The columns that can be written; `undefined` when the table does not exist. `table` is quoted and
 * qualified.
 */
export async function readColumns(
  client: ClientBase,
  table: string,
): Promise<LiveColumn[] | undefined> {
  // A separate statement: `to_regclass` finds a table that was just created, while the rows of a
  // statement may be older.
  const found = await client.query<{ oid: string | null }>(
    'SELECT to_regclass($1)::oid::text AS oid',
    [table],
  );
  const oid = found.rows[0]?.oid ?? null;
  if (oid === null) return undefined;
  const { rows } = await client.query<ColumnRow>(COLUMNS, [oid]);
  return rows.map(({ name, type, base, limits, nullable, settable, has_default: hasDefault }) => ({
    name,
    sqlType: type,
    ...(base === type ? {} : { baseType: base }),
    ...(limits === base ? {} : { limits }),
    types: typesOf(base),
    nullable,
    ...(settable ? {} : { settable }),
    ...(hasDefault ? { hasDefault } : {}),
  }));
}

/** Tables whose names start with the prefix, in the schema or, without one, in the search path. */
export async function tablesFrom(
  client: ClientBase,
  prefix: string,
  schema: string | undefined,
): Promise<string[]> {
  const text = `SELECT relname AS name FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE relkind = 'r' AND starts_with(relname, $1) AND CASE WHEN $2::text IS NULL THEN pg_table_is_visible(pg_class.oid) ELSE nspname = $2 END`;
  const { rows } = await client.query<{ name: string }>(text, [prefix, schema ?? null]);
  return rows.map(({ name }) => name);
}

/**
 * The columns that COPY may write, with their types, by name; `undefined` when only INSERT has the
 * full effect on the table.
 */
export type CopyTarget = ReadonlyMap<string, TargetColumn>;

export interface TargetColumn {
  readonly name: string;
  readonly oid: number;
  readonly sqlType: string;
  readonly baseType?: string;
  readonly limits?: string;
  readonly hasDefault: boolean;
}

/** Views, foreign tables, rules and row security only work with INSERT. */
const COPY_TARGET = `
  SELECT a.attname AS name, a.atttypid::int8::text AS oid, format_type(a.atttypid, -1) AS type,
    ${baseTypeOf('a.atttypid')} AS base, ${limitsOf('a.atttypid', 'a.atttypmod')} AS limits, a.atthasdef OR a.attidentity <> '' AS has_default
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p') AND NOT c.relhasrules AND NOT row_security_active(c.oid)`;

export async function readCopyTarget(
  client: ClientBase,
  table: string,
): Promise<CopyTarget | undefined> {
  const { rows } = await client.query<{
    name: string;
    oid: string;
    type: string;
    base: string;
    limits: string;
    has_default: boolean;
  }>(COPY_TARGET, [table]);
  return rows.length === 0
    ? undefined
    : new Map(
        rows.map(({ name, oid, type, base, limits, has_default: hasDefault }) => [
          name,
          {
            name,
            oid: Number(oid),
            sqlType: type,
            ...(base === type ? {} : { baseType: base }),
            ...(limits === base ? {} : { limits }),
            hasDefault,
          },
        ]),
      );
}

function typesOf(type: string): readonly ColumnType[] {
  if (/^(smallint|integer|bigint)$/.test(type)) return ['integer'];
  if (/^(real|double precision)$/.test(type)) return ['number'];
  // Exact decimals are sent as text.
  if (type === 'numeric') return ['number', 'string'];
  if (type === 'boolean') return ['boolean'];
  if (/^jsonb?$/.test(type)) return ['object', 'array'];
  return type.endsWith('[]') ? ['array', 'string'] : ['string'];
}
