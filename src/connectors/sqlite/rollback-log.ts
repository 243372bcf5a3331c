/** The rollback log in SQLite. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { quoteName, quoteNames } from '../../lib/sql/sql-name.ts';
import type { RollbackDialect, LiveColumn } from '../_sql/driver.ts';
import {
  ROLLBACK_LOG_COLUMNS,
  ROLLBACK_LOG_KEY,
  ROLLBACK_LOG_TABLE,
  labelOf,
  noteOf,
  PREVIOUS,
  previousName,
} from '../_sql/rollback-log.ts';
import { readColumns } from './schema.ts';

const NOW = "strftime('%Y-%m-%dT%H:%M:%fZ')";
const INTO = `(${ROLLBACK_LOG_COLUMNS.join(', ')})`;
const REAL_TEXT = 'headgate_real_text';
const TEXT_REAL = 'headgate_text_real';

/**
 * Adds the functions used in the expressions below: SQLite itself writes numbers with fewer digits
 * than they have.
 */
export function addRollbackFunctions(db: DatabaseSync): void {
  const exact = { deterministic: true, directOnly: true };
  db.function(REAL_TEXT, exact, (value) => (Object.is(value, -0) ? '-0' : String(value)));
  db.function(TEXT_REAL, exact, (text) => Number(text));
}

/** A value as text that starts with a letter for its type. */
function encoded(value: string): string {
  return `CASE typeof(${value}) WHEN 'null' THEN NULL WHEN 'integer' THEN 'i' || ${value} WHEN 'real' THEN 'r' || ${REAL_TEXT}(${value})
    WHEN 'blob' THEN 'b' || hex(${value}) ELSE iif(instr(${value}, char(0)) > 0, 'h' || hex(${value}), 't' || ${value}) END`;
}

function decoded(text: string): string {
  const rest = `substr(${text}, 2)`;
  return `CASE substr(${text}, 1, 1) WHEN 'i' THEN CAST(${rest} AS INTEGER) WHEN 'r' THEN ${TEXT_REAL}(${rest})
    WHEN 'b' THEN unhex(${rest}) WHEN 'h' THEN CAST(unhex(${rest}) AS TEXT) WHEN 't' THEN ${rest} END`;
}

export const ROLLBACK_DIALECT: RollbackDialect = {
  slot: () => '?',
  table: quoteName,
  json: (text) => text,
  decode: decoded,
  images: { join: 'JOIN json_each(j.before_json) AS e', image: 'e.value' },
  labels: (image) => `json_each(${image}) AS k`,
  overriding: '',
  now: NOW,
};

export function createRollbackLog(db: DatabaseSync): void {
  db.exec(
    `CREATE TABLE IF NOT EXISTS ${ROLLBACK_LOG_TABLE} (run_id TEXT NOT NULL, table_name TEXT NOT NULL, key_json TEXT NOT NULL,
      before_json TEXT, recorded_at TEXT NOT NULL, PRIMARY KEY (${ROLLBACK_LOG_KEY.join(', ')}))`,
  );
}

function imageOf(columns: readonly LiveColumn[]): string {
  return `json_object(${columns.map(({ name }) => `'${labelOf(name)}', ${encoded(`t.${quoteName(name)}`)}`).join(', ')})`;
}

function keyOf(values: readonly string[]): string {
  return `json_array(${values.map(encoded).join(', ')})`;
}

interface LogTarget {
  readonly table: string;
  readonly runId: string;
  readonly key: readonly LiveColumn[];
}

const KEYS = 'svc_journal_keys';

/**
 * Creates an empty table for keys with the types of the columns; returns the statement that fills
 * it.
 */
export function emptyKeys(db: DatabaseSync, key: readonly LiveColumn[]): string {
  db.exec(
    `DROP TABLE IF EXISTS temp.${KEYS}; CREATE TEMP TABLE ${KEYS} (${key.map(({ sqlType }, index) => `k${index} ${sqlType}`).join(', ')})`,
  );
  return `INSERT INTO temp.${KEYS} VALUES (${key.map(() => '?').join(', ')})`;
}

/** Stores the rows that have one of the keys in the table, and the keys without a row. */
export function logKeys(db: DatabaseSync, { table, runId, key }: LogTarget): void {
  const columns = readColumns(db, table) ?? [];
  // The column is on the left side, because it decides how texts are compared.
  const same = key.map(({ name }, index) => `t.${quoteName(name)} = s.k${index}`).join(' AND ');
  const values = key.map(({ name }, index) => `coalesce(t.${quoteName(name)}, s.k${index})`);
  const [present] = key.map(({ name }) => `t.${quoteName(name)}`);
  db.prepare(
    `INSERT OR IGNORE INTO ${ROLLBACK_LOG_TABLE} ${INTO}
     SELECT ?, ?, ${keyOf(values)}, CASE WHEN count(${present}) > 0 THEN json_group_array(json(${imageOf(columns)})) END, ${NOW}
     FROM temp.${KEYS} AS s LEFT JOIN ${quoteName(table)} AS t ON ${same} GROUP BY s.rowid`,
  ).run(runId, table);
}

/** Stores the rows `t` that fulfil the condition. */
export function logRows(
  db: DatabaseSync,
  { table, runId, key }: LogTarget,
  where: string,
  values: readonly SQLInputValue[],
): void {
  const columns = readColumns(db, table) ?? [];
  db.prepare(
    `INSERT OR IGNORE INTO ${ROLLBACK_LOG_TABLE} ${INTO}
     SELECT ?, ?, ${keyOf(key.map(({ name }) => `t.${quoteName(name)}`))}, json_array(json(${imageOf(columns)})), ${NOW}
     FROM ${quoteName(table)} AS t WHERE ${where}`,
  ).run(runId, table, ...values);
}

/** Copies the rows that will be replaced, and deletes the copies of an earlier overwrite. */
export function logReplaced(db: DatabaseSync, table: string, runId: string): void {
  const previous = previousName(table);
  const live = readColumns(db, table);
  db.exec(`DROP TABLE IF EXISTS ${quoteName(previous)}`);
  db.prepare(
    `DELETE FROM ${ROLLBACK_LOG_TABLE} WHERE table_name = ? AND key_json = '${PREVIOUS}'`,
  ).run(table);
  if (live !== undefined) {
    const lines = live.map(({ name, sqlType }) => `${quoteName(name)} ${sqlType}`);
    const names = quoteNames(live.map(({ name }) => name));
    db.exec(
      `CREATE TABLE ${quoteName(previous)} (${lines.join(', ')});
       INSERT INTO ${quoteName(previous)} (${names}) SELECT ${names} FROM ${quoteName(table)}`,
    );
  }
  db.prepare(
    `INSERT INTO ${ROLLBACK_LOG_TABLE} ${INTO} VALUES (?, ?, '${PREVIOUS}', ?, ${NOW})`,
  ).run(runId, table, live === undefined ? null : noteOf({ table: previous }));
}
