/** Values as they are written to a table after they were read from one, worked out inside SQLite. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { fromSqlite, toSqlite } from './values.ts';

const FUNCTION = 'headgate_value';
const SPACE = ' \t\n\r';
const LARGEST = '1.7976931348623157e308';

/** Gives a connection what `movedValue` asks for. */
export function addMovedValue(db: DatabaseSync): void {
  const move = (value: SQLInputValue, declared: SQLInputValue): SQLInputValue => toSqlite(fromSqlite(value, declared as string | null));
  db.function(FUNCTION, { deterministic: true, directOnly: true, useBigIntArguments: true }, move);
}

/**
 * What `toSqlite(fromSqlite(…))` makes of a value, as an expression. Only texts that may be JSON and bytes leave the database for it:
 * JSON starts with a bracket, a quote, a digit, a minus, white space or one of three words.
 */
export function movedValue(column: string, declared: string | null): string {
  const asked = `${FUNCTION}(${column}, ${declared === null ? 'NULL' : quoteText(declared)})`;
  const whole = `abs(${column}) <= ${Number.MAX_SAFE_INTEGER} AND ${column} = CAST(${column} AS INTEGER)`;
  return `CASE typeof(${column})
    WHEN 'text' THEN CASE
      WHEN ${column} GLOB '[0-9-]*' THEN iif(${column} GLOB '*[^0-9eE.+${SPACE}-]*', ${column}, ${asked})
      WHEN ${column} GLOB '[[{"${SPACE}tfn]*' THEN iif(${column} GLOB '[tfn]*' AND ${column} NOT IN ('true', 'false', 'null')
        AND ${column} NOT GLOB '*[${SPACE}]', ${column}, ${asked})
      ELSE ${column} END
    WHEN 'integer' THEN ${declared !== null && /^bool/i.test(declared) ? `${column} <> 0` : column}
    WHEN 'real' THEN CASE WHEN abs(${column}) > ${LARGEST} THEN NULL WHEN ${whole} THEN CAST(${column} AS INTEGER) ELSE ${column} END
    WHEN 'null' THEN NULL
    ELSE ${asked} END`;
}

/** Whether a value is written in the only way there is to write it. */
export function isPlainKey(column: string): string {
  return `typeof(${column}) IN ('integer', 'text') AND ${column} NOT GLOB '["${SPACE}]*'`;
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
