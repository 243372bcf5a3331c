/** The columns of a table: what they hold, and those that a sink creates. */
import { columnTypeFor } from '../../../kit/typed-values.ts';
import type { RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { jsonText } from '../../../lib/text/json.ts';
import type { LiveColumn, NewColumn } from '../../_sql/driver.ts';
import type { Rows, ServerFacts } from '../link.ts';
import { bareType, parseType } from '../types/parse-type.ts';
import { backticked } from '../types/quote.ts';
import { recordTypeOf, SYSTEM } from '../types/read-types.ts';

/** Columns that the server computes. */
const COMPUTED = /^(?:MATERIALIZED|ALIAS)$/;

/** From the answer to DESCRIBE TABLE. */
export function liveColumns({ columns, rows }: Rows): LiveColumn[] {
  const at = (name: string): number => columns.findIndex((column) => column.name === name);
  const [name, type, fallback] = [at('name'), at('type'), at('default_type')];
  const cell = (row: Rows['rows'][number], place: number): string => jsonText(row[place] ?? '');
  return rows
    .filter((row) => !COMPUTED.test(cell(row, fallback)))
    .map((row) => {
      const sqlType = cell(row, type);
      const parsed = parseType(sqlType);
      const { isNullable } = bareType(parsed);
      return {
        name: cell(row, name),
        types: typesOf(recordTypeOf(parsed)),
        nullable: isNullable,
        // A column that holds no null has the zero of its type.
        hasDefault: !isNullable || cell(row, fallback) !== '',
        sqlType,
      };
    });
}

function typesOf(type: RecordType): readonly ColumnType[] {
  return type.kind === 'decimal' ? ['number'] : [columnTypeFor(type)];
}

const INFERRED: Readonly<Record<ColumnType, string>> = {
  boolean: 'Bool',
  integer: 'Int64',
  number: 'Float64',
  string: 'String',
  array: 'String',
  object: 'String',
};

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'Bool',
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  int64: 'Int64',
  uint8: 'UInt8',
  uint16: 'UInt16',
  uint32: 'UInt32',
  uint64: 'UInt64',
  float32: 'Float32',
  float64: 'Float64',
  date: 'Date32',
  uuid: 'UUID',
};

const DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

/** Newer types; servers without them have the ones beside them. */
const SINCE: Readonly<Record<string, { readonly version: number; readonly before: string }>> = {
  Bool: { version: 21.12, before: 'UInt8' },
  Date32: { version: 21.09, before: 'Date' },
};
const DATETIME64_SINCE = 20.01;
const WIDE_DECIMALS_SINCE = 21.01;
const WIDE = 76;
const NARROW = 38;

function versionOf({ version }: ServerFacts): number {
  const [year = '0', month = '0'] = version.split('.');
  return Number(`${year}.${month.padStart(2, '0')}`);
}

function typeFor(type: RecordType, version: number): string {
  if (type.kind === 'decimal') {
    const { precision = Infinity, scale = 0 } = type;
    const most = version >= WIDE_DECIMALS_SINCE ? WIDE : NARROW;
    // A text keeps the digits that no decimal of the server has.
    return precision <= most && scale >= 0 && scale <= precision
      ? `Decimal(${precision}, ${scale})`
      : 'String';
  }
  if (type.kind === 'timestamp') {
    if (version >= DATETIME64_SINCE) return `DateTime64(${DIGITS[type.unit]}, 'UTC')`;
    return type.unit === 's' ? "DateTime('UTC')" : 'String';
  }
  return known(SIMPLE[type.kind] ?? 'String', version);
}

function known(name: string, version: number): string {
  const since = SINCE[name];
  return since !== undefined && version < since.version ? since.before : name;
}

/** The definition of a new column. All may be null, but for types that cannot. */
export function columnLine(column: NewColumn, facts: ServerFacts): string {
  const { name, type, field } = column;
  const version = versionOf(facts);
  if (field?.native?.system === SYSTEM) return `${backticked(name)} ${field.native.name}`;
  const inner = field === undefined ? known(INFERRED[type], version) : typeFor(field.type, version);
  return `${backticked(name)} Nullable(${inner})`;
}
