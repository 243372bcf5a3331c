/** What the server knows of a table. */
import type { ColumnType } from '../../../kit/sink.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import type { BindValue, Cell, Link } from '../connection.ts';
import type { TableName } from '../names.ts';

/** Its name is the one of documents: small letters where statements need no quotes. */
export interface TableColumn extends LiveColumn {
  /** The name as the server has it. */
  readonly stored: string;
  /** As it is written in statements, with its sizes. */
  readonly sqlType: string;
  /** Letters of texts, bytes of others. */
  readonly length: number;
  /** Places after the point, and digits of a second; `undefined` where there is no limit. */
  readonly scale: number | undefined;
  readonly isIdentity: boolean;
}

const OWNER = `COALESCE(:1, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA'))`;

const COLUMNS = `SELECT column_name, data_type, data_length, char_length, char_used, data_precision, data_scale, nullable, default_length, virtual_column, identity_column
  FROM all_tab_cols WHERE owner = ${OWNER} AND table_name = :2 AND hidden_column = 'NO' ORDER BY column_id`;

/** All columns; `undefined` when the table does not exist. */
export async function readColumns(
  link: Link,
  table: TableName,
): Promise<readonly TableColumn[] | undefined> {
  const rows = await link.ask(COLUMNS, named(table));
  if (rows.length === 0) return undefined;
  const columns = rows.map(columnOf);
  const stored = new Set(columns.map((column) => column.stored));
  return columns.map((column) => {
    const small = column.stored.toLowerCase();
    return PLAIN.test(column.stored) && !stored.has(small) ? { ...column, name: small } : column;
  });
}

const PLAIN = /^[A-Z][A-Z0-9_$#]*$/;

function named({ owner, table }: TableName): BindValue[] {
  return [owner ?? null, table];
}

function columnOf(row: readonly Cell[]): TableColumn {
  const [
    name,
    type,
    bytes,
    letters,
    unit,
    precision,
    scale,
    nullable,
    byDefault,
    virtual,
    identity,
  ] = row;
  const kind = String(type);
  const isText = /CHAR/.test(kind);
  const length = Number(isText ? letters : bytes);
  const isIdentity = identity === 'YES';
  const hasDefault = byDefault !== null && byDefault !== undefined && virtual !== 'YES';
  const sized = sizedType(kind, { length, unit, precision, scale });
  return {
    name: String(name),
    stored: String(name),
    sqlType: sized,
    length,
    scale: scaleOf(kind, scale ?? null),
    types: typesOf(kind, scale ?? null),
    nullable: nullable === 'Y',
    ...(hasDefault || isIdentity ? { hasDefault: true } : {}),
    ...(virtual === 'YES' ? { settable: false } : {}),
    isIdentity,
  };
}

function scaleOf(kind: string, scale: Cell): number | undefined {
  if (kind === 'DATE') return 0;
  return scale === null ? undefined : Number(scale);
}

interface Sizes {
  readonly length: number;
  readonly unit: Cell | undefined;
  readonly precision: Cell | undefined;
  readonly scale: Cell | undefined;
}

/** Types of times and intervals have their sizes in their names. */
function sizedType(kind: string, { length, unit, precision, scale }: Sizes): string {
  if (/^N(?:VARCHAR2|CHAR)$/.test(kind) || kind === 'RAW') return `${kind}(${length})`;
  if (/CHAR/.test(kind)) return `${kind}(${length} ${unit === 'B' ? 'BYTE' : 'CHAR'})`;
  if (kind !== 'NUMBER') return kind;
  if (precision === null || precision === undefined)
    return scale === null || scale === undefined ? kind : `NUMBER(38,${String(scale)})`;
  return `NUMBER(${String(precision)},${String(scale ?? 0)})`;
}

function typesOf(kind: string, scale: Cell): readonly ColumnType[] {
  // Exact decimals are sent as text.
  if (kind === 'NUMBER') {
    if (scale === null) return ['number', 'integer', 'string'];
    return Number(scale) <= 0 ? ['integer', 'boolean'] : ['number', 'string'];
  }
  if (kind === 'FLOAT' || kind.startsWith('BINARY_')) return ['number'];
  if (kind === 'BOOLEAN') return ['boolean'];
  if (kind === 'JSON') return ['object', 'array'];
  return kind === 'CLOB' || kind === 'NCLOB' ? ['string', 'object', 'array'] : ['string'];
}

const INDEXES = `SELECT i.index_name, c.column_name
  FROM all_indexes i JOIN all_ind_columns c ON c.index_owner = i.owner AND c.index_name = i.index_name
  WHERE i.table_owner = ${OWNER} AND i.table_name = :2 AND i.uniqueness = 'UNIQUE'
  ORDER BY i.index_name, c.column_position`;

/** The columns of each unique index. */
export async function uniqueIndexes(
  link: Link,
  table: TableName,
): Promise<readonly (readonly string[])[]> {
  const rows = await link.ask(INDEXES, named(table));
  return [...Map.groupBy(rows, ([index]) => index).values()].map((columns) =>
    columns.map(([, name]) => String(name)),
  );
}

const TABLES = `SELECT table_name FROM all_tables WHERE owner = ${OWNER} AND SUBSTR(table_name, 1, :2) = :3`;

/** Tables of the owner whose names start with the prefix. */
export async function tablesFrom(
  link: Link,
  owner: string | undefined,
  prefix: string,
): Promise<string[]> {
  const rows = await link.ask(TABLES, [owner ?? null, prefix.length, prefix]);
  return rows.map(([name]) => String(name));
}
