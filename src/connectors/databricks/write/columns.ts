/** The columns of a table: what they hold, and those that a sink creates. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { NameRules } from '../../_sql/column-names.ts';
import type { LiveColumn, NewColumn } from '../../_sql/driver.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  FLOAT_ROUNDING,
  isWhole,
  scaleRounding,
  secondsRounding,
  type Rounding,
} from '../../_sql/rounding.ts';
import { backticked, literal, type TablePlace } from '../names.ts';
import type { Link } from '../session/link.ts';

/** Names of columns have no case in a Delta table. */
export const NAMES: NameRules = { mostBytes: 255, ignoresCase: true };

/** `information_schema` of the catalog, and the condition for the schema. */
export function catalogViews({ catalog, schema }: Pick<TablePlace, 'catalog' | 'schema'>) {
  return {
    of: (view: string) =>
      catalog === undefined
        ? `information_schema.${view}`
        : `${backticked(catalog)}.information_schema.${view}`,
    inSchema: `table_schema = ${schema === undefined ? 'current_schema()' : literal(schema.toLowerCase())}`,
  };
}

/** `undefined` when the table does not exist. */
export async function readColumns(
  link: Pick<Link, 'rows'>,
  place: TablePlace,
): Promise<LiveColumn[] | undefined> {
  const { of, inSchema } = catalogViews(place);
  const rows = await link.rows(
    `SELECT column_name, full_data_type, is_nullable, column_default FROM ${of('columns')} WHERE ${inSchema} AND table_name = ${literal(place.table.toLowerCase())} ORDER BY ordinal_position`,
  );
  if (rows.length === 0) return undefined;
  return rows.map(([name, written, nullable, fallback]) => {
    const limits = (written ?? 'string').toUpperCase();
    const sqlType = /^\w+/.exec(limits)?.[0] ?? limits;
    return {
      name: name ?? '',
      sqlType,
      // Names of members keep their case.
      limits: NESTED.has(sqlType) ? (written ?? '') : limits,
      types: typesOf(sqlType, limits),
      nullable: nullable !== 'NO',
      ...(fallback === null || fallback === undefined ? {} : { hasDefault: true }),
    };
  });
}

export const NESTED: ReadonlySet<string> = new Set(['ARRAY', 'MAP', 'STRUCT']);

const WHOLE: ReadonlySet<string> = new Set(['TINYINT', 'SMALLINT', 'INT', 'INTEGER', 'BIGINT']);

function typesOf(type: string, limits: string): readonly ColumnType[] {
  if (WHOLE.has(type)) return ['integer'];
  switch (type) {
    case 'DECIMAL':
      return scaleOf(limits) === 0 ? ['integer', 'string'] : ['number', 'integer', 'string'];
    case 'FLOAT':
    case 'DOUBLE':
      return ['number'];
    case 'BOOLEAN':
      return ['boolean'];
    case 'ARRAY':
      return ['array'];
    case 'MAP':
    case 'STRUCT':
      return ['object'];
    case 'VARIANT':
      return ['object', 'array', 'string', 'number', 'integer', 'boolean'];
    default:
      return ['string'];
  }
}

function scaleOf(limits: string): number {
  return Number(/, *(\d+)\)$/.exec(limits)?.[1] ?? 0);
}

const MICROSECONDS = 6;

/** What a column does to values that it does not hold exactly. */
export function roundingOf(
  { sqlType, limits = '' }: Pick<LiveColumn, 'sqlType' | 'limits'>,
  type: RecordType | undefined,
): Rounding | undefined {
  switch (sqlType) {
    case 'DECIMAL':
      return type?.kind === 'decimal' && (type.scale ?? Infinity) <= scaleOf(limits)
        ? undefined
        : scaleRounding(scaleOf(limits));
    case 'FLOAT':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'DOUBLE':
      return type?.kind.startsWith('float') === true
        ? undefined
        : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'DATE':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'TIMESTAMP':
    case 'TIMESTAMP_NTZ':
      return secondsRounding(MICROSECONDS);
    default:
      return undefined;
  }
}

const INFERRED: Readonly<Record<ColumnType, string>> = {
  boolean: 'BOOLEAN',
  integer: 'BIGINT',
  number: 'DOUBLE',
  string: 'STRING',
  array: 'VARIANT',
  object: 'VARIANT',
};

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'BOOLEAN',
  int8: 'TINYINT',
  int16: 'SMALLINT',
  int32: 'INT',
  int64: 'BIGINT',
  uint8: 'SMALLINT',
  uint16: 'INT',
  uint32: 'BIGINT',
  uint64: 'DECIMAL(20,0)',
  float32: 'FLOAT',
  float64: 'DOUBLE',
  binary: 'BINARY',
  date: 'DATE',
  json: 'VARIANT',
  list: 'VARIANT',
  struct: 'VARIANT',
  map: 'VARIANT',
};

const MOST_DIGITS = 38;

function typeFor(type: RecordType): string {
  if (type.kind === 'timestamp') return type.zone === undefined ? 'TIMESTAMP_NTZ' : 'TIMESTAMP';
  if (type.kind !== 'decimal') return SIMPLE[type.kind] ?? 'STRING';
  const { precision = Infinity, scale = 0 } = type;
  // A text keeps the digits that no number of the database has.
  return precision <= MOST_DIGITS && scale >= 0 && scale <= precision
    ? `DECIMAL(${precision},${scale})`
    : 'STRING';
}

/** The definition of a new column. */
export function columnLine({ name, type, field }: NewColumn): string {
  return `${backticked(name)} ${field === undefined ? INFERRED[type] : typeFor(field.type)}`;
}

/** Characters that a column may only have where the table maps names. */
const UNUSUAL = /[ ,;{}()\n\t=]/;

export function needsNameMapping(columns: readonly { readonly name: string }[]): boolean {
  return columns.some(({ name }) => UNUSUAL.test(name));
}

/** A fraction beside whole numbers of 64 bits: no double holds those. */
const WIDE_NUMBER = 'DECIMAL(38,18)';

const WIDER: Readonly<Record<string, Partial<Readonly<Record<ColumnType, string>>>>> = {
  TINYINT: { integer: 'BIGINT', number: 'DOUBLE' },
  SMALLINT: { integer: 'BIGINT', number: 'DOUBLE' },
  INT: { integer: 'BIGINT', number: 'DOUBLE' },
  BIGINT: { number: WIDE_NUMBER },
  'DECIMAL(20,0)': { number: WIDE_NUMBER },
  FLOAT: { number: 'DOUBLE' },
};

/** The type that a column is changed to; `undefined` where it holds such values already. */
export function widerType(column: LiveColumn, type: ColumnType): string | undefined {
  const wider = WIDER[column.limits ?? column.sqlType]?.[type];
  if (wider !== undefined) return wider;
  if (column.types.includes(type) || column.sqlType === 'STRING') return undefined;
  throw new ConnectorError(
    'refused',
    `a Delta table cannot change the column \`${column.name}\` from ${column.limits ?? column.sqlType} to ${INFERRED[type]}`,
    { hint: 'cast the field (`cast`), or make the table anew' },
  );
}
