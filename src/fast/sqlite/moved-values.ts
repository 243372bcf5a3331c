/**
 * Values as they are written to a table after they were read from one, worked out inside SQLite.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { fromSqlite, toSqlite } from '../../lib/sql/sqlite-values.ts';

const FUNCTION = 'headgate_value';
const SPACE = ' \t\n\r';
const LARGEST = '1.7976931348623157e308';

/** Gives a connection what `movedValue` asks for. */
export function addMovedValue(db: DatabaseSync): void {
  const move = (value: SQLInputValue): SQLInputValue => toSqlite(fromSqlite(value, null));
  db.function(FUNCTION, { deterministic: true, directOnly: true, useBigIntArguments: true }, move);
}

/**
 * What `toSqlite(fromSqlite(…))` makes of a value, as an expression. Only texts that may be JSON
 * and bytes leave the database for it.
 */
export function movedValue(column: string, declared: string | null): string {
  const whole = `abs(${column}) <= ${Number.MAX_SAFE_INTEGER} AND ${column} = CAST(${column} AS INTEGER)`;
  // SQLite and we agree on numbers and literals; what else is JSON we find out ourselves.
  const mayBeJson = `${column} GLOB '[[{"${SPACE}]*' OR json_valid(${column})`;
  return `CASE typeof(${column})
    WHEN 'text' THEN iif(${mayBeJson}, ${FUNCTION}(${column}), ${column})
    WHEN 'integer' THEN ${declared !== null && /^bool/i.test(declared) ? `${column} <> 0` : column}
    WHEN 'real' THEN CASE WHEN abs(${column}) > ${LARGEST} THEN NULL WHEN ${whole} THEN CAST(${column} AS INTEGER) ELSE ${column} END
    WHEN 'null' THEN NULL
    ELSE ${FUNCTION}(${column}) END`;
}

/** Whether a value is written in the only way there is to write it. */
export function isPlainKey(column: string): string {
  return `typeof(${column}) IN ('integer', 'text') AND ${column} NOT GLOB '["${SPACE}]*'`;
}
