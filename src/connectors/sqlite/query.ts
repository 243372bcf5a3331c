/** Runs one query and reads its rows. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ConnectorError } from '../../lib/errors.ts';
import { setField, type JsonObject } from '../../lib/text/json.ts';
import { sqliteError } from '../../lib/sql/sqlite.ts';
import type { SourceContext } from '../../kit/context.ts';
import { refuseEqualNames } from '../_sql/equal-names.ts';
import { bindRecords } from '../_sql/parent-value.ts';
import {
  fromSqlite,
  keepStoredRow,
  toSqlite,
  type StoredColumns,
} from '../../lib/sql/sqlite-values.ts';

export interface BoundQuery {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

export interface PreparedQuery extends BoundQuery {
  readonly statement: StatementSync;
}

export function prepareQuery(
  db: DatabaseSync,
  query: string,
  context: SourceContext,
): PreparedQuery {
  const { sql, values } = bindRecords(query, context, () => '?');
  const statement = prepare(db, sql);
  refuseMoreStatements(sql, statement);
  refuseEqualNames(statement.columns().map(({ name }) => name));
  return { sql, statement, values: values.map(toSqlite) };
}

function prepare(db: DatabaseSync, sql: string): StatementSync {
  try {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    return statement;
  } catch (error) {
    throw sqliteError(error, 'the query cannot be run');
  }
}

/** SQLite prepares the first statement of a text and ignores the others without an error. */
function refuseMoreStatements(sql: string, statement: StatementSync): void {
  const rest = sql
    .slice(statement.sourceSQL.length)
    .replaceAll(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '');
  if (!/[^\s;]/.test(rest)) return;
  throw new ConnectorError('data', 'the query holds more than one statement', {
    hint: 'keep only one statement; its rows are the records',
  });
}

export function recordReader(statement: StatementSync): (row: readonly unknown[]) => JsonObject {
  const columns = statement.columns();
  const stored: StoredColumns = {
    places: new Map(columns.map(({ name }, index) => [name, index])),
    declared: columns.map(({ type }) => type),
  };
  return (row) => {
    const record: JsonObject = {};
    for (const [index, column] of columns.entries())
      setField(record, column.name, fromSqlite(row[index], column.type));
    keepStoredRow(record, { columns: stored, values: row });
    return record;
  };
}

/** All rows of a SELECT as records. */
export function readRecords(
  db: DatabaseSync,
  sql: string,
  values: readonly SQLInputValue[],
): JsonObject[] {
  const statement = prepare(db, sql);
  const toRecord = recordReader(statement);
  const rows = iterate(statement, values);
  const records: JsonObject[] = [];
  for (let row = nextRow(rows); row !== undefined; row = nextRow(rows)) records.push(toRecord(row));
  return records;
}

export function iterate(
  statement: StatementSync,
  values: readonly SQLInputValue[],
): Iterator<unknown> {
  try {
    return statement.iterate(...values);
  } catch (error) {
    throw sqliteError(error, 'the query failed');
  }
}

export function nextRow(rows: Iterator<unknown>): readonly unknown[] | undefined {
  try {
    const next = rows.next();
    return next.done === true ? undefined : (next.value as readonly unknown[]);
  } catch (error) {
    throw sqliteError(error, 'the query failed');
  }
}
