/** The columns of a table: what they hold, and those that a sink creates. */
import type { RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import type { LiveColumn, NewColumn } from '../../_sql/driver.ts';
import type { NameRules } from '../../_sql/column-names.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  isWhole,
  scaleRounding,
  secondsRounding,
  type Rounding,
} from '../../_sql/rounding.ts';
import { foldedName, identifier } from '../../_sql/folded-names.ts';
import { literal } from '../literal.ts';
import type { Session } from '../session/session.ts';

/** Fields find their columns in any case, as names in statements do. */
export const NAMES: NameRules = { mostBytes: 255, ignoresCase: true };

/** `undefined` when the table does not exist. */
export async function readColumns(
  session: Pick<Session, 'rows'>,
  { database, schema, table }: { database: string; schema: string; table: string },
): Promise<LiveColumn[] | undefined> {
  const rows = await session.rows(
    `SELECT column_name, data_type, numeric_precision, numeric_scale, datetime_precision, is_nullable, column_default
     FROM ${identifier(database)}.INFORMATION_SCHEMA.COLUMNS
     WHERE table_schema = ${literal(foldedName(schema))} AND table_name = ${literal(foldedName(table))} ORDER BY ordinal_position`,
  );
  if (rows.length === 0) return undefined;
  return rows.map(([name, type, precision, scale, fraction, nullable, fallback]) => {
    const sqlType = type === 'TEXT' || type === null || type === undefined ? 'VARCHAR' : type;
    const limits =
      sqlType === 'NUMBER'
        ? `NUMBER(${precision ?? '38'},${scale ?? '0'})`
        : TIMES.test(sqlType)
          ? `${sqlType}(${fraction ?? '9'})`
          : undefined;
    return {
      name: name ?? '',
      sqlType,
      ...(limits === undefined ? {} : { limits }),
      types: typesOf(sqlType, Number(scale ?? 0)),
      nullable: nullable !== 'NO',
      ...(fallback === null || fallback === undefined ? {} : { hasDefault: true }),
    };
  });
}

const TIMES = /^(?:TIME|TIMESTAMP_\w+)$/;

function typesOf(type: string, scale: number): readonly ColumnType[] {
  switch (type) {
    case 'NUMBER':
      return scale === 0 ? ['integer'] : ['number', 'string'];
    case 'FLOAT':
    case 'DECFLOAT':
      return ['number'];
    case 'BOOLEAN':
      return ['boolean'];
    case 'ARRAY':
      return ['array'];
    case 'OBJECT':
      return ['object'];
    case 'VARIANT':
      return ['object', 'array', 'string', 'number', 'integer', 'boolean'];
    default:
      return ['string'];
  }
}

/** What a column does to values that it does not hold exactly. */
export function roundingOf(
  { sqlType, limits }: Pick<LiveColumn, 'sqlType' | 'limits'>,
  type: RecordType | undefined,
): Rounding | undefined {
  const digits = Number(/(\d+)\)$/.exec(limits ?? '')?.[1] ?? 0);
  switch (sqlType) {
    case 'NUMBER':
      return type?.kind === 'decimal' && (type.scale ?? Infinity) <= digits
        ? undefined
        : scaleRounding(digits);
    case 'FLOAT':
      return type?.kind.startsWith('float') === true
        ? undefined
        : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'DATE':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    default:
      return TIMES.test(sqlType) ? secondsRounding(digits) : undefined;
  }
}

const INFERRED: Readonly<Record<ColumnType, string>> = {
  boolean: 'BOOLEAN',
  integer: 'NUMBER(38,0)',
  number: 'FLOAT',
  string: 'VARCHAR',
  array: 'VARIANT',
  object: 'VARIANT',
};

const INTEGER = 'NUMBER(38,0)';

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'BOOLEAN',
  int8: 'NUMBER(3,0)',
  int16: 'NUMBER(5,0)',
  int32: 'NUMBER(10,0)',
  int64: INTEGER,
  uint8: 'NUMBER(3,0)',
  uint16: 'NUMBER(5,0)',
  uint32: 'NUMBER(10,0)',
  uint64: INTEGER,
  float32: 'FLOAT',
  float64: 'FLOAT',
  binary: 'BINARY',
  date: 'DATE',
  time: 'TIME(9)',
  json: 'VARIANT',
  list: 'VARIANT',
  struct: 'VARIANT',
  map: 'VARIANT',
};

const DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };
const MOST_DIGITS = 38;
const MOST_SCALE = 37;

function typeFor(type: RecordType): string {
  if (type.kind === 'timestamp')
    return `${type.zone === undefined ? 'TIMESTAMP_NTZ' : 'TIMESTAMP_TZ'}(${DIGITS[type.unit]})`;
  if (type.kind !== 'decimal') return SIMPLE[type.kind] ?? 'VARCHAR';
  const { precision = Infinity, scale = 0 } = type;
  // A text keeps the digits that no number of the database has.
  return precision <= MOST_DIGITS && scale >= 0 && scale <= MOST_SCALE
    ? `NUMBER(${precision},${scale})`
    : 'VARCHAR';
}

/** The definition of a new column. */
export function columnLine({ name, type, field }: NewColumn): string {
  return `${identifier(name)} ${field === undefined ? INFERRED[type] : typeFor(field.type)}`;
}
