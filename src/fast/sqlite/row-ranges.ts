/** Reads a table as pages that name its rows, when the query allows. */
import { realpathSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { Page } from '../../kit/page.ts';
import { orderOf } from '../../kit/record-schema.ts';
import { sqliteError } from '../../lib/sql/sqlite.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { rangeOf, readPlainQuery, rowIdOf, type PlainQuery } from './plain-query.ts';
import {
  blockOfRows,
  rowEncoding,
  type ReadRecords,
  type RowRange,
  type RowSource,
} from './row-blocks.ts';

/** A page is a transaction of the sink: more rows would hold up everything else for too long. */
const MOST_ROWS = 50_000;
/** Number of rows from which the size of all rows is estimated. */
const SAMPLE = 100;
const [FIRST_ROW, LAST_ROW] = [-(2n ** 63n), 2n ** 63n - 1n];

export interface RangeQuery {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  readonly columns: readonly { readonly name: string; readonly type: string | null }[];
}

export interface RangeOptions {
  /** The database file. */
  readonly path: string;
  /** Opens another connection to it, which sees what others commit. */
  readonly watch: () => DatabaseSync;
  readonly read: ReadRecords;
  readonly sizeOf: (record: JsonObject) => number;
  /** Rows of the first page. */
  readonly batchSize: number;
  readonly pageBytes: number;
  readonly signal: AbortSignal;
}

export interface RangeReader {
  pages(limit: number | undefined): AsyncGenerator<Page, void>;
  close(): void;
}

/**
 * The rows of a query; `undefined` when they cannot be named by their row ids. The connection must
 * have no other transaction.
 */
export function openRanges(
  db: DatabaseSync,
  { sql, values, columns }: RangeQuery,
  options: RangeOptions,
): RangeReader | undefined {
  const query = readPlainQuery(sql);
  if (query === undefined || query.parameters !== values.length) return undefined;
  if (!hasRowIds(db, query) || !readsInOrder(db, query, sql)) return undefined;
  const watcher = options.watch();
  try {
    // In this order, a change between the two counts as a later one, which is safe.
    const version = versionOf(watcher);
    db.exec('BEGIN');
    const source: RowSource = {
      path: realpathSync(options.path),
      query,
      values,
      columns: columns.map(({ name, type }) => ({ name, declared: type })),
      isUnchanged: () => versionOf(watcher) === version,
    };
    return {
      pages: (limit) => rangePages(db, source, { ...options, limit }),
      close: () => watcher.close(),
    };
  } catch (error) {
    watcher.close();
    throw sqliteError(error, 'the query failed');
  }
}

async function* rangePages(
  db: DatabaseSync,
  source: RowSource,
  options: RangeOptions & { readonly limit: number | undefined },
): AsyncGenerator<Page, void> {
  const encoding = rowEncoding(options.read);
  const nextRange = rangeFinder(db, source);
  const schema = orderOf(source.columns.map(({ name }) => name));
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  let from = FIRST_ROW;
  // A new table gets its column types from the first page, so that page has the usual size.
  let most = options.batchSize;
  while (left > 0) {
    options.signal.throwIfAborted();
    const found = nextRange(from, Math.min(most, left));
    if (found === undefined) return;
    const { range, count } = found;
    const page = (bytes?: number): Page =>
      Page.ofBlock(
        encoding,
        blockOfRows(source, range, count),
        count,
        bytes === undefined ? { schema } : { schema, bytes },
      );
    const sample = page().slice(0, SAMPLE).records() as readonly JsonObject[];
    const sampled = sample.reduce((sum, record) => sum + options.sizeOf(record), 0);
    const size = Math.max(1, sampled / sample.length);
    yield page(Math.round(size * count));
    if (range.to === LAST_ROW) return;
    from = range.to + 1n;
    left -= count;
    most = Math.max(1, Math.min(MOST_ROWS, Math.floor(options.pageBytes / size)));
  }
}

function rangeFinder(
  db: DatabaseSync,
  { query, values }: RowSource,
): (from: bigint, most: number) => { range: RowRange; count: number } | undefined {
  const id = rowIdOf(query);
  const ids = `SELECT ${id} AS id ${rangeOf(query, 'main')} ORDER BY ${id} LIMIT ?`;
  const statement = db.prepare(`SELECT count(*) AS count, max(id) AS last FROM (${ids})`);
  statement.setReadBigInts(true);
  return (from, most) => {
    try {
      const found = statement.get(...values, from, LAST_ROW, most);
      const [count, to] = [found?.['count'], found?.['last']] as [bigint, bigint | null];
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

/** Tables only, and none with a column of that name of its own. */
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

/** Another value after each transaction of another connection. */
function versionOf(db: DatabaseSync): unknown {
  return db.prepare('PRAGMA data_version').get()?.['data_version'];
}
