import { quoteName } from '../../lib/sql/sql-name.ts';
import { openSqlite, sqliteError } from '../../lib/sql/sqlite.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { Discovered, ReadRequest, Source } from '../../kit/source.ts';
import { createPager } from '../_sql/pager.ts';
import { roughSize } from '../_sql/rough-size.ts';
import type { SqliteSourceConfig } from './config.ts';
import { iterate, nextRow, prepareQuery, recordReader, type PreparedQuery } from './query.ts';
import { openRows, type RowReader } from './row-pages.ts';
import { describeColumns } from './schema.ts';

export function openSqliteSource(config: SqliteSourceConfig, context: SourceContext): Source {
  const db = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  let rows: RowReader | undefined;
  return {
    async *pages(request) {
      const query = prepareQuery(db, config.query, context);
      rows = request.lane.form === 'bytes' ? openRows(db, query, config, context) : undefined;
      yield* rows?.pages(request) ?? readPages(query, { config, context, request });
    },
    close() {
      rows?.close();
      if (db.isOpen) db.close();
      return Promise.resolve();
    },
  };
}

interface Reading {
  readonly config: SqliteSourceConfig;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

async function* readPages(
  { statement, values }: PreparedQuery,
  { config, context, request }: Reading,
): AsyncGenerator<Page, void> {
  const pager = createPager({
    batchSize: config.batch_size,
    pageBytes: context.pageBytes,
    limit: request.limit,
  });
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

/** One data set for each table, by name. */
export function discoverTables(
  config: { database_url: string },
  context: SourceContext,
): Discovered[] {
  const db = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  try {
    const tables = db
      .prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      )
      .all();
    return tables.map((row) => {
      const name = String(row['name']);
      return {
        name,
        kind: 'table',
        schema: describeColumns(db, name),
        config_patch: { query: `SELECT * FROM ${quoteName(name)}` },
      };
    });
  } catch (error) {
    throw sqliteError(error, 'the tables cannot be listed');
  } finally {
    db.close();
  }
}
