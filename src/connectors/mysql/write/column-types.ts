/** The types of columns that a sink creates. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import type { NewColumn } from '../../_sql/driver.ts';
import { SYSTEM } from '../../_mysql/result-types.ts';

/** For fields of which only values are known. */
export const MYSQL_TYPES: Readonly<Record<ColumnType, string>> = {
  boolean: 'TINYINT(1)',
  integer: 'BIGINT',
  number: 'DOUBLE',
  string: 'LONGTEXT',
  array: 'JSON',
  object: 'JSON',
};

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'TINYINT(1)',
  int8: 'TINYINT',
  int16: 'SMALLINT',
  int32: 'INT',
  int64: 'BIGINT',
  uint8: 'TINYINT UNSIGNED',
  uint16: 'SMALLINT UNSIGNED',
  uint32: 'INT UNSIGNED',
  uint64: 'BIGINT UNSIGNED',
  float32: 'FLOAT',
  float64: 'DOUBLE',
  utf8: 'LONGTEXT',
  binary: 'LONGBLOB',
  date: 'DATE',
  time: 'TIME(6)',
  uuid: 'CHAR(36)',
  json: 'JSON',
  list: 'JSON',
  struct: 'JSON',
  map: 'JSON',
};

const MOST_DIGITS = 65;
/** MySQL takes fewer than MariaDB. */
const MOST_SCALE = 30;

function typeFor(type: RecordType): string {
  switch (type.kind) {
    case 'decimal': {
      const { precision = Infinity, scale = 0 } = type;
      const fits = precision <= MOST_DIGITS && scale >= 0 && scale <= MOST_SCALE;
      // A text keeps the digits that no decimal of the server has.
      return fits ? `DECIMAL(${precision},${scale})` : 'LONGTEXT';
    }
    case 'timestamp':
      // TIMESTAMP ends in 2038, and reads the same.
      return 'DATETIME(6)';
    default:
      return SIMPLE[type.kind] ?? 'LONGTEXT';
  }
}

/** Types of other servers of the family, which this one may not have. */
const FOREIGN_TYPES = /^(?:uuid|inet\d)$/;

function typeOf({ field, type }: NewColumn, isMariadb: boolean): string {
  if (field === undefined) return MYSQL_TYPES[type];
  const { native } = field;
  const isKnown = native?.system === SYSTEM && (isMariadb || !FOREIGN_TYPES.test(native.name));
  return isKnown ? native.name : typeFor(field.type);
}

/** An index has no room for more letters. */
const KEY_LETTERS = 191;
const TOO_LONG_FOR_KEYS = /^(?:(?:long|medium|tiny)?(text|blob)|json)$/i;

/**
 * Keys are told apart letter by letter, as they are at the source. No column of JSON can be one: a key
 * such as `{"$oid": …}` of MongoDB is stored as its text.
 */
function keyType(type: string): string {
  const [match, kind] = TOO_LONG_FOR_KEYS.exec(type) ?? [];
  if (match === undefined)
    return /^(?:var)?char/i.test(type) ? `${type} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin` : type;
  return kind?.toLowerCase() === 'blob'
    ? `VARBINARY(${KEY_LETTERS})`
    : `VARCHAR(${KEY_LETTERS}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
}

/** The definitions of new columns, all of which may be null unless they are of the key. */
export function columnLines(
  columns: readonly NewColumn[],
  { key, isMariadb }: { readonly key: readonly string[]; readonly isMariadb: boolean },
): string[] {
  return columns.map((column) => {
    const type = typeOf(column, isMariadb);
    const name = backticked(column.name);
    // Without the word a first TIMESTAMP would get a default.
    return key.includes(column.name) ? `${name} ${keyType(type)} NOT NULL` : `${name} ${type} NULL`;
  });
}
