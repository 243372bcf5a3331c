import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { attachCopy } from '../../fast/fast-paths.ts';
import { readPlainQuery } from '../../fast/sqlite/plain-query.ts';
import { openRanges, type RangeReader } from '../../fast/sqlite/row-ranges.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { MEMORY, openSqlite, parseSqliteUrl, sqliteError } from '../../lib/sql/sqlite.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { Discovered, ReadRequest, Source } from '../../kit/source.ts';
import { withoutTokens } from '../_sql/parent-value.ts';
import { createPager } from '../_sql/pager.ts';
import { encodedSize } from '../../kit/rough-size.ts';
import type { SqliteSourceConfig } from './config.ts';
import {
  iterate,
  nextRow,
  prepareQuery,
  readRecords,
  recordReader,
  type PreparedQuery,
} from './query.ts';
import { describeColumns } from './schema.ts';
import { StoredDoubts } from './stored-doubts.ts';
import { StoredTypes } from './stored-types.ts';

export function openSqliteSource(config: SqliteSourceConfig, context: SourceContext): Source {
  const db = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  let ranges: RangeReader | undefined;
  return {
    async *pages(request) {
      const query = prepareQuery(db, config.query, context);
      ranges = request.lane.form === 'bytes' ? rangesOf(db, query, { config, context }) : undefined;
      yield* ranges?.pages(request.limit) ?? readPages(query, { config, context, request });
    },
    close() {
      ranges?.close();
      if (db.isOpen) db.close();
      return Promise.resolve();
    },
  };
}

/**
 * Why pages cannot be described by row ranges, for a sink whose database fetches the rows;
 * `undefined` when they can, as far as the config shows.
 */
export function whyRecords({
  database_url: url,
  query,
  batch_size: batchSize,
}: SqliteSourceConfig): string | undefined {
  if (!attachCopy.isOn()) return 'the fast path is switched off';
  const address = parseSqliteUrl(url);
  if ('error' in address || address.path === MEMORY) return 'the source is not a database file';
  if (batchSize === 0) return '`batch_size: 0` means one single page';
  const { sql, count } = withoutTokens(query);
  return readPlainQuery(sql)?.parameters === count
    ? undefined
    : 'the query does more than choose columns and rows of one table';
}

function rangesOf(
  db: DatabaseSync,
  { sql, values, statement }: PreparedQuery,
  { config, context }: { config: SqliteSourceConfig; context: SourceContext },
): RangeReader | undefined {
  const { cwd } = context.env;
  const address = parseSqliteUrl(config.database_url);
  if ('error' in address) return undefined;
  return openRanges(
    db,
    { sql, values, columns: statement.columns() },
    {
      path: resolve(cwd, address.path),
      watch: () => openSqlite(config.database_url, { mode: 'ro', cwd }),
      read: (select, slots) => readRecords(db, select, slots),
      sizeOf: encodedSize,
      batchSize: config.batch_size,
      pageBytes: context.pageBytes,
      signal: context.signal,
    },
  );
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
  const types = new StoredTypes(statement.columns());
  const doubts = new StoredDoubts(statement.columns(), context.env.log);
  const pager = createPager({
    bounds: pageBounds(config.batch_size, context.pageBytes),
    limit: request.limit,
    schema: () => types.schema,
  });
  const toRecord = recordReader(statement);
  const rows = iterate(statement, values);
  try {
    for (;;) {
      context.signal.throwIfAborted();
      const row = nextRow(rows);
      if (row === undefined) break;
      types.see(row);
      doubts.see(row);
      const record = toRecord(row);
      if (!pager.add(record, encodedSize(record))) continue;
      yield pager.take();
      if (pager.done) return;
    }
    if (pager.count > 0) yield pager.take();
  } finally {
    doubts.end();
  }
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
