/** What the server knows of a table. */
import type { ColumnType } from '../../../kit/sink.ts';
import type { Link } from '../../_mssql/connection.ts';
import { tableSql, type TableName } from '../../_mssql/quote.ts';
import type { Cell } from '../../_mssql/result-types.ts';
import type { LiveColumn } from '../../_sql/driver.ts';

export interface TableColumn extends LiveColumn {
  /** The name of the type without its size. */
  readonly type: string;
  /** Letters, or bytes, of texts and bytes; -1 without a limit. */
  readonly length: number;
  readonly scale: number;
  readonly collation: string | undefined;
  /** Of texts that are not of Unicode. */
  readonly codePage: number;
  readonly isIdentity: boolean;
  /** The expression that fills it where a row has no value. */
  readonly byDefault: string | undefined;
}

const COLUMNS = `SELECT c.name, TYPE_NAME(c.system_type_id), TYPE_NAME(c.user_type_id), c.max_length, c.precision, c.scale,
    c.is_nullable, c.is_identity, c.is_computed, c.generated_always_type, d.definition, c.collation_name,
    CAST(COLLATIONPROPERTY(c.collation_name, 'CodePage') AS int)
  FROM sys.columns AS c
  LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
  WHERE c.object_id = OBJECT_ID(@table) ORDER BY c.column_id`;

/** All columns; `undefined` when the table does not exist. */
export async function readColumns(
  link: Link,
  table: TableName,
): Promise<readonly TableColumn[] | undefined> {
  const { rows } = await link.ask(COLUMNS, [named(table)]);
  return rows.length === 0 ? undefined : rows.map(columnOf);
}

function named(table: TableName) {
  return { name: 'table', type: 'text' as const, value: tableSql(table) };
}

function columnOf(row: readonly Cell[]): TableColumn {
  const [name, base, own, bytes, precision, scale, nullable, identity, computed, generated] = row;
  const [definition, collation, codePage] = row.slice(10);
  const type = String(base ?? own).toLowerCase();
  const length = lengthOf(type, Number(bytes));
  const isIdentity = identity === true;
  const isFilled = computed === true || Number(generated) !== 0 || type === 'timestamp';
  return {
    name: String(name),
    type,
    length,
    scale: Number(scale),
    sqlType: sqlType({ type, length, precision: Number(precision), scale: Number(scale) }),
    types: typesOf(type, length),
    nullable: nullable === true,
    ...(definition !== null && definition !== undefined ? { hasDefault: true } : {}),
    ...(isFilled ? { settable: false } : {}),
    collation: typeof collation === 'string' ? collation : undefined,
    codePage: Number(codePage ?? 0),
    isIdentity,
    byDefault: typeof definition === 'string' ? definition : undefined,
  };
}

/** Two bytes are a letter of Unicode. */
function lengthOf(type: string, bytes: number): number {
  return bytes > 0 && /^n(?:var)?char$/.test(type) ? bytes / 2 : bytes;
}

function sqlType(column: {
  readonly type: string;
  readonly length: number;
  readonly precision: number;
  readonly scale: number;
}): string {
  const { type, length, precision, scale } = column;
  if (/(?:char|binary)$/.test(type)) return `${type}(${length === -1 ? 'max' : length})`;
  if (/^(?:decimal|numeric)$/.test(type)) return `${type}(${precision},${scale})`;
  return /^(?:time|datetime2|datetimeoffset)$/.test(type) ? `${type}(${scale})` : type;
}

function typesOf(type: string, length: number): readonly ColumnType[] {
  if (type === 'bit') return ['boolean', 'integer'];
  if (type.endsWith('int')) return ['integer'];
  if (/^(?:float|real)$/.test(type)) return ['number'];
  // Exact decimals are sent as text.
  if (/^(?:decimal|numeric|money|smallmoney)$/.test(type)) return ['number', 'string'];
  return type === 'nvarchar' && length === -1 ? ['string', 'object', 'array'] : ['string'];
}

const INDEXES = `SELECT i.index_id, c.name
  FROM sys.indexes AS i
  JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
  JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE i.object_id = OBJECT_ID(@table) AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0 AND k.key_ordinal > 0
  ORDER BY i.index_id, k.key_ordinal`;

/** The columns of each primary or unique index over all rows. */
export async function uniqueIndexes(
  link: Link,
  table: TableName,
): Promise<readonly (readonly string[])[]> {
  const { rows } = await link.ask(INDEXES, [named(table)]);
  return [...Map.groupBy(rows, ([index]) => Number(index)).values()].map((columns) =>
    columns.map(([, name]) => String(name)),
  );
}

/** Tables of the schema whose names start with the prefix. */
export async function tablesFrom(
  link: Link,
  schema: string | undefined,
  prefix: string,
): Promise<string[]> {
  const { rows } = await link.ask(
    `SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID(${schema === undefined ? '' : '@schema'}) AND LEFT(name, ${prefix.length}) = @prefix`,
    [
      { name: 'prefix', type: 'text', value: prefix },
      ...(schema === undefined ? [] : [{ name: 'schema', type: 'text' as const, value: schema }]),
    ],
  );
  return rows.map(([name]) => String(name));
}
