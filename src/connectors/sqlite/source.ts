import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ConnectorError } from '../../lib/errors.ts';
import { setField, type JsonObject } from '../../lib/json.ts';
import { quoteName } from '../../lib/sql-name.ts';
import { openSqlite, sqliteError } from '../../lib/sqlite.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { Discovered, ReadRequest, Source } from '../../kit/source.ts';
import { createPager } from '../_sql/pager.ts';
import { bindRecords } from '../_sql/parent-value.ts';
import { roughSize } from '../_sql/rough-size.ts';
import type { SqliteSourceConfig } from './config.ts';
import { describeColumns } from './schema.ts';
import { fromSqlite, toSqlite } from './values.ts';

export function openSqliteSource(config: SqliteSourceConfig, context: SourceContext): Source {
  const db = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  return {
    pages: (request) => readPages(db, config, context, request),
    close() {
      if (db.isOpen) db.close();
      return Promise.resolve();
    },
  };
}

async function* readPages(
  db: DatabaseSync,
  config: SqliteSourceConfig,
  context: SourceContext,
  request: ReadRequest,
): AsyncGenerator<Page, void> {
  const pager = createPager({ batchSize: config.batch_size, pageBytes: context.pageBytes, limit: request.limit });
  const { statement, values } = prepareQuery(db, config.query, context);
  const toRecord = recordReader(statement);
  const rows = iterate(statement, values);
  for (;;) {
    context.signal.throwIfAborted();
    const row = nextRow(rows);
    if (row === undefined) break;
    const record = toRecord(row);
    if (!pager.add(record, roughSize(record))) continue;
    yield pager.take();
    if (pager.done) return;
  }
  if (pager.count > 0) yield pager.take();
}

function prepareQuery(db: DatabaseSync, query: string, context: SourceContext): { statement: StatementSync; values: SQLInputValue[] } {
  const bound = bindRecords(query, context, () => '?');
  const values = bound.values.map(toSqlite);
  const statement = prepare(db, bound.sql);
  refuseMoreStatements(bound.sql, statement);
  refuseEqualNames(statement);
  return { statement, values };
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

/** SQLite prepares the first statement of a text and says nothing about the others. */
function refuseMoreStatements(sql: string, statement: StatementSync): void {
  const rest = sql.slice(statement.sourceSQL.length).replaceAll(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '');
  if (!/[^\s;]/.test(rest)) return;
  throw new ConnectorError('data', 'the query holds more than one statement', { hint: 'keep one; its rows are the records' });
}

/** A record has one value for a name: the others would be lost. */
function refuseEqualNames(statement: StatementSync): void {
  const seen = new Set<string>();
  for (const { name } of statement.columns()) {
    if (seen.has(name)) {
      const message = `the query gives two columns called ${JSON.stringify(name)}`;
      throw new ConnectorError('data', message, { hint: 'name one of them otherwise with `AS`' });
    }
    seen.add(name);
  }
}

function recordReader(statement: StatementSync): (row: readonly unknown[]) => JsonObject {
  const columns = statement.columns();
  return (row) => {
    const record: JsonObject = {};
    for (const [index, column] of columns.entries()) setField(record, column.name, fromSqlite(row[index], column.type));
    return record;
  };
}

function iterate(statement: StatementSync, values: SQLInputValue[]): Iterator<unknown> {
  try {
    return statement.iterate(...values);
  } catch (error) {
    throw sqliteError(error, 'the query failed');
  }
}

function nextRow(rows: Iterator<unknown>): readonly unknown[] | undefined {
  try {
    const next = rows.next();
    return next.done === true ? undefined : (next.value as readonly unknown[]);
  } catch (error) {
    throw sqliteError(error, 'the query failed');
  }
}

/** One data set for each table, by name. */
export function discoverTables(config: { database_url: string }, context: SourceContext): Discovered[] {
  const db = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
      .all();
    return tables.map((row) => {
      const name = String(row['name']);
      return { name, kind: 'table', schema: describeColumns(db, name), config_patch: { query: `SELECT * FROM ${quoteName(name)}` } };
    });
  } catch (error) {
    throw sqliteError(error, 'the tables cannot be listed');
  } finally {
    db.close();
  }
}
