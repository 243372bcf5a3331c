/** The types of columns that a sink creates. */
import type { RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { isObject, type JsonValue } from '../../../lib/text/json.ts';
import type { NewColumn } from '../../_sql/driver.ts';
import { storedName } from '../names.ts';
import { SYSTEM } from '../read/result-types.ts';

/** What the server has besides the types of all versions. */
export interface Abilities {
  readonly hasBooleans: boolean;
  readonly hasJson: boolean;
}

const LONGEST_TEXT = 4000;
const TEXT = `VARCHAR2(${LONGEST_TEXT})`;
/** An index has no room for more letters, which may have four bytes. */
const KEY_LETTERS = 450;
const KEY_BYTES = 1800;
const MOST_DIGITS = 38;

/** For fields of which only values are known. */
export function inferredType(type: ColumnType, { hasBooleans, hasJson }: Abilities): string {
  switch (type) {
    case 'boolean':
      return hasBooleans ? 'BOOLEAN' : 'NUMBER(1)';
    case 'integer':
      return 'NUMBER(38)';
    case 'number':
      return 'BINARY_DOUBLE';
    case 'array':
    case 'object':
      return hasJson ? 'JSON' : 'CLOB';
    case 'string':
      return TEXT;
    default:
      return type satisfies never;
  }
}

const SIMPLE: Readonly<Record<string, string>> = {
  int8: 'NUMBER(3)',
  int16: 'NUMBER(5)',
  int32: 'NUMBER(10)',
  int64: 'NUMBER(19)',
  uint8: 'NUMBER(3)',
  uint16: 'NUMBER(5)',
  uint32: 'NUMBER(10)',
  uint64: 'NUMBER(20)',
  float32: 'BINARY_FLOAT',
  float64: 'BINARY_DOUBLE',
  binary: 'BLOB',
  date: 'DATE',
  uuid: 'VARCHAR2(36)',
};

const DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

function typeFor(type: RecordType, abilities: Abilities): string {
  switch (type.kind) {
    case 'bool':
      return inferredType('boolean', abilities);
    case 'json':
    case 'list':
    case 'struct':
    case 'map':
      return inferredType('object', abilities);
    case 'decimal': {
      const { precision, scale = 0 } = type;
      if (precision === undefined) return 'NUMBER';
      // A text keeps the digits that no number of the database has.
      return precision <= MOST_DIGITS && scale >= 0 ? `NUMBER(${precision},${scale})` : TEXT;
    }
    case 'timestamp': {
      const zone = type.zone === undefined ? '' : ' WITH TIME ZONE';
      return `TIMESTAMP(${DIGITS[type.unit]})${zone}`;
    }
    default:
      return SIMPLE[type.kind] ?? TEXT;
  }
}

function typeOf({ field, type }: NewColumn, abilities: Abilities): string {
  if (field === undefined) return inferredType(type, abilities);
  return field.native?.system === SYSTEM ? field.native.name : typeFor(field.type, abilities);
}

function keyType(type: string): string {
  if (type === TEXT || /^N?CLOB$/.test(type)) return `VARCHAR2(${KEY_LETTERS} CHAR)`;
  return type === 'BLOB' ? `RAW(${KEY_BYTES})` : type;
}

export interface Creating {
  readonly key: readonly string[];
  readonly abilities: Abilities;
  /** The first ones: columns have room for their texts. */
  readonly records: readonly JsonValue[];
}

/** The definitions of new columns, all of which may be null unless they are of the key. */
export function columnLines(
  columns: readonly NewColumn[],
  { key, abilities, records }: Creating,
): string[] {
  const keys = new Set(key.map(storedName));
  return columns.map((column) => {
    const type = typeOf(column, abilities);
    const name = quoteName(storedName(column.name));
    if (keys.has(storedName(column.name))) return `${name} ${keyType(type)} NOT NULL`;
    const isShort = type !== TEXT || !records.some((one) => isLong(one, column.name));
    return `${name} ${isShort ? type : 'CLOB'}`;
  });
}

function isLong(record: JsonValue, field: string): boolean {
  const value = isObject(record) ? record[field] : undefined;
  return typeof value === 'string' && Buffer.byteLength(value) > LONGEST_TEXT;
}

export function primaryKey(key: readonly string[]): string {
  return `PRIMARY KEY (${key.map((name) => quoteName(storedName(name))).join(', ')})`;
}
