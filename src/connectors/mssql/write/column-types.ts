/** The types of columns that a sink creates. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { bracketed } from '../../_mssql/quote.ts';
import { SYSTEM } from '../../_mssql/result-types.ts';
import type { NewColumn } from '../../_sql/driver.ts';

/** For fields of which only values are known. */
export const MSSQL_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'BIT',
  integer: 'BIGINT',
  number: 'FLOAT',
  string: 'NVARCHAR(MAX)',
  array: 'NVARCHAR(MAX)',
  object: 'NVARCHAR(MAX)',
};

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'BIT',
  int8: 'SMALLINT',
  int16: 'SMALLINT',
  int32: 'INT',
  int64: 'BIGINT',
  uint8: 'TINYINT',
  uint16: 'INT',
  uint32: 'BIGINT',
  uint64: 'DECIMAL(20,0)',
  float32: 'REAL',
  float64: 'FLOAT',
  binary: 'VARBINARY(MAX)',
  date: 'DATE',
  time: 'TIME(7)',
  uuid: 'UNIQUEIDENTIFIER',
};

const ANY_TEXT = 'NVARCHAR(MAX)';
const MOST_DIGITS = 38;

function typeFor(type: RecordType): string {
  switch (type.kind) {
    case 'decimal': {
      const { precision = Infinity, scale = 0 } = type;
      const fits = precision <= MOST_DIGITS && scale >= 0 && scale <= precision;
      // A text keeps the digits that no decimal of the server has.
      return fits ? `DECIMAL(${precision},${scale})` : ANY_TEXT;
    }
    case 'timestamp':
      return type.zone === undefined ? 'DATETIME2(7)' : 'DATETIMEOFFSET(7)';
    default:
      return SIMPLE[type.kind] ?? ANY_TEXT;
  }
}

function typeOf({ field, type }: NewColumn): string {
  if (field === undefined) return MSSQL_TYPES[type];
  const { native } = field;
  return native?.system === SYSTEM ? native.name : typeFor(field.type);
}

/** An index has no room for more letters, or for as many bytes. */
const KEY_LETTERS = 450;
const KEY_BYTES = 900;
/** Tells any two texts apart, as the source does. */
export const BINARY = 'COLLATE Latin1_General_100_BIN2';

function keyType(type: string): string {
  const [match, unicode, kind = '', length] =
    /^(n?)(varchar|char|varbinary|text)(?:\((\w+)\))?$/i.exec(type) ?? [];
  if (match === undefined) return type;
  const isOpen = length === undefined || /^max$/i.test(length);
  if (/^varbinary$/i.test(kind)) return isOpen ? `VARBINARY(${KEY_BYTES})` : type;
  const sized = isOpen ? `${unicode === '' ? '' : 'N'}VARCHAR(${KEY_LETTERS})` : type;
  return `${sized} ${BINARY}`;
}

/** The definitions of new columns, all of which may be null unless they are of the key. */
export function columnLines(columns: readonly NewColumn[], key: readonly string[]): string[] {
  return columns.map((column) => {
    const type = typeOf(column);
    const name = bracketed(column.name);
    return key.includes(column.name) ? `${name} ${keyType(type)} NOT NULL` : `${name} ${type} NULL`;
  });
}
