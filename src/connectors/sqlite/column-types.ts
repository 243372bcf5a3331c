/** The declared types of a new table: their affinity must not change the values that come. */
import { hasField, isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { storedRowOf } from '../../lib/sql/sqlite-values.ts';
import { columnTypeIn } from '../../kit/column-type.ts';
import type { RecordType } from '../../kit/record-schema.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { NewColumn } from '../_sql/driver.ts';
import { SQLITE_TYPES } from './schema.ts';

/** Without affinity every value is stored as it is; also for expressions and columns without type. */
const ANY = 'BLOB';

/**
 * The type of the column that the values were read from, where they come from a SQLite file.
 * `records` are the first ones.
 */
export function declaredType(
  { name, type, field }: NewColumn,
  records: readonly JsonValue[],
): string {
  if (field?.native?.system === 'sqlite') return spelledType(field.native.name);
  if (field !== undefined) return typeFor(field.type, type);
  const own = records.filter(
    (record): record is JsonObject => isObject(record) && hasField(record, name),
  );
  const read = own.flatMap((record) => {
    const row = storedRowOf(record);
    const place = row?.columns.places.get(name);
    return row === undefined || place === undefined ? [] : [row.columns.declared[place] ?? ANY];
  });
  const [first] = read;
  if (first === undefined || read.length < own.length)
    return holdsNumbers(own, name) ? numberType(own, name, type) : SQLITE_TYPES[type];
  return spelledType(first);
}

/** Only in a STRICT table does ANY mean any value. A type is written without quotes. */
function spelledType(declared: string): string {
  return declared.toUpperCase() === 'ANY' || !/^[\w ]*(?:\([\d, ]*\))?$/.test(declared)
    ? ANY
    : declared;
}

export function isReal(declared: string): boolean {
  return /real|floa|doub/i.test(declared) && !/int|char|clob|text|blob/i.test(declared);
}

/** Whether there are numbers, each of which SQLite stores as one. */
function holdsNumbers(records: readonly JsonObject[], name: string): boolean {
  const types = new Set(records.map((record) => columnTypeIn(record, name)));
  types.delete(undefined);
  return types.size > 0 && types.isSubsetOf(NUMBERS);
}

const NUMBERS: ReadonlySet<ColumnType | undefined> = new Set(['integer', 'number']);

/** Integers that REAL would round are stored as they are in a NUMERIC column. */
function numberType(records: readonly JsonObject[], name: string, type: ColumnType): string {
  if (type === 'integer') return SQLITE_TYPES.integer;
  return records.some((record) => typeof record[name] === 'bigint')
    ? 'NUMERIC'
    : SQLITE_TYPES.number;
}

/** Decimals keep their digits as text; a column of any number would round some. */
function typeFor({ kind }: RecordType, type: ColumnType): string {
  if (kind === 'binary') return 'BLOB';
  if (kind === 'decimal' || kind === 'uint64') return 'TEXT';
  return SQLITE_TYPES[type];
}
