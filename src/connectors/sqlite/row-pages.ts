/** Reads a table as pages that name its rows, when the query allows. */
import type { DatabaseSync } from 'node:sqlite';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { MEMORY, openSqlite, parseSqliteUrl, sqliteError } from '../../lib/sql/sqlite.ts';
import type { SourceContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import type { ReadRequest } from '../../kit/source.ts';
import { roughSize } from '../_sql/rough-size.ts';
import { withoutTokens } from '../_sql/parent-value.ts';
import type { SqliteSourceConfig } from './config.ts';
import { rangeOf, readPlainQuery, rowIdOf, type PlainQuery } from './plain-query.ts';
import { prepare, type PreparedQuery } from './query.ts';
import { blockOfRows, rowEncoding, type RowRange, type RowSource } from './row-blocks.ts';

/** A page is a transaction of the sink: more rows would hold up everything else for too long. */
const MOST_ROWS = 50_000;
/** Rows whose size stands for that of a page. */
const SAMPLE = 100;
const [FIRST_ROW, LAST_ROW] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Why rows cannot be named; `undefined` when they can, as far as the config tells. */
export function whyRecords({
  database_url: url,
  query,
  batch_size: batchSize,
}: SqliteSourceConfig): string | undefined {
  const address = parseSqliteUrl(url);
  if ('error' in address || address.path === MEMORY) return 'the source is no database file';
  if (batchSize === 0) return '`batch_size: 0` asks for one single page';
  const { sql, count } = withoutTokens(query);
  return readPlainQuery(sql)?.parameters === count
    ? undefined
    : 'the query does more than choose columns and rows of one table';
}

export interface RowReader {
  pages(request: ReadRequest): AsyncGenerator<Page, void>;
  close(): void;
}

/**
 * The rows of a prepared query; `undefined` when they have no row ids. The connection must have no
 * other transaction.
 */
export function openRows(
  db: DatabaseSync,
  prepared: PreparedQuery,
  config: SqliteSourceConfig,
  context: SourceContext,
): RowReader | undefined {
  const query = readPlainQuery(prepared.sql);
  if (query === undefined || query.parameters !== prepared.values.length) return undefined;
  if (!hasRowIds(db, query) || !readsInOrder(db, query, prepared.sql)) return undefined;
  const watcher = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  try {
    // In this order: a change between the two is taken for one that came later, which is safe.
    const version = versionOf(watcher);
    db.exec('BEGIN');
    const source: RowSource = {
      path: pathOf(config, context),
      query,
      values: prepared.values,
      columns: prepared.statement.columns().map(({ name, type }) => ({ name, declared: type })),
      isUnchanged: () => versionOf(watcher) === version,
    };
    return {
      pages: (request) => rowPages(db, source, { request, config, context }),
      close: () => watcher.close(),
    };
  } catch (error) {
    watcher.close();
    throw sqliteError(error, 'the query failed');
  }
}

interface Reading {
  readonly request: ReadRequest;
  readonly config: SqliteSourceConfig;
  readonly context: SourceContext;
}

async function* rowPages(
  db: DatabaseSync,
  source: RowSource,
  { request, config, context }: Reading,
): AsyncGenerator<Page, void> {
  const encoding = rowEncoding(db);
  const nextRange = rangeReader(db, source);
  let left = request.limit ?? Number.POSITIVE_INFINITY;
  let from = FIRST_ROW;
  // A table that is still to be made gets its types from the first page, so that one is of the
  // usual size.
  let most = config.batch_size;
  while (left > 0) {
    context.signal.throwIfAborted();
    const found = nextRange(from, Math.min(most, left));
    if (found === undefined) return;
    const { range, count } = found;
    const sample = Page.ofBlock(encoding, blockOfRows(source, range, count), count)
      .slice(0, SAMPLE)
      .records();
    const size = Math.max(1, roughSize([...sample]) / sample.length);
    yield Page.ofBlock(encoding, blockOfRows(source, range, count), count, {
      bytes: Math.round(size * count),
    });
    if (range.to === LAST_ROW) return;
    from = range.to + 1n;
    left -= count;
    most = Math.max(1, Math.min(MOST_ROWS, Math.floor(context.pageBytes / size)));
  }
}

function rangeReader(
  db: DatabaseSync,
  { query, values }: RowSource,
): (from: bigint, most: number) => { range: RowRange; count: number } | undefined {
  const id = rowIdOf(query);
  const ids = `SELECT ${id} AS id ${rangeOf(query, 'main')} ORDER BY ${id} LIMIT ?`;
  const statement = prepare(db, `SELECT count(*), max(id) FROM (${ids})`);
  return (from, most) => {
    try {
      const [count, to] = statement.get(...values, from, LAST_ROW, most) as unknown as [
        bigint,
        bigint | null,
      ];
      return to === null ? undefined : { range: { from, to }, count: Number(count) };
    } catch (error) {
      throw sqliteError(error, 'the query failed');
    }
  };
}

/** Rows that an index picks would be looked for from one end of the table to the other. */
function readsInOrder(db: DatabaseSync, { condition }: PlainQuery, sql: string): boolean {
  if (condition === undefined) return true;
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.every(
    ({ detail }) =>
      /^(?:SCAN|SEARCH) /.test(String(detail)) &&
      !/ USING (?:COVERING |AUTOMATIC )*INDEX /.test(String(detail)),
  );
}

/** Tables only; not one whose own column has taken the name. */
function hasRowIds(db: DatabaseSync, { table }: PlainQuery): boolean {
  const kind = db
    .prepare("SELECT type, wr FROM pragma_table_list(?) WHERE schema = 'main'")
    .get(table);
  if (kind?.['type'] !== 'table' || kind['wr'] !== 0) return false;
  return (
    db
      .prepare("SELECT 1 FROM pragma_table_xinfo(?) WHERE name = 'rowid' COLLATE NOCASE")
      .get(table) === undefined
  );
}

/** Other in each transaction of another connection. */
function versionOf(db: DatabaseSync): unknown {
  return db.prepare('PRAGMA data_version').get()?.['data_version'];
}

function pathOf({ database_url: url }: SqliteSourceConfig, { env }: SourceContext): string {
  const address = parseSqliteUrl(url);
  return realpathSync(resolve(env.cwd, 'error' in address ? url : address.path));
}
