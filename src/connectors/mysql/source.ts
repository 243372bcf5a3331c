import type { JsonValue } from '../../lib/text/json.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { SourceContext } from '../../kit/context.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Lane, Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { readBookmark } from '../../kit/stored-bookmark.ts';
import { createBookmarks, type Bookmarks } from '../_sql/bookmarks.ts';
import { collectorOf } from '../_sql/copy-text/collectors.ts';
import { fieldText, keepsColumnOrder } from '../_sql/copy-text/text-fields.ts';
import { cutPages, type TextColumn } from '../_sql/copy-text/text-pages.ts';
import type { CopyField } from '../../fast/copy-text/copy-text-writer.ts';
import { rowLines } from '../../fast/fast-paths.ts';
import type { MysqlSourceConfig } from './config.ts';
import { createLineStore } from './read/line-store.ts';
import { serverTime } from './read/literals.ts';
import { compileQuery } from './read/query.ts';
import { openReader, type Reader } from './read/reader.ts';
import { hasFloats } from './read/result.ts';
import { exactColumn, type MysqlColumn } from '../_mysql/result-types.ts';

export async function openMysqlSource(
  config: MysqlSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const reader = await openReader({
    url: config.connection_url,
    signal: context.signal,
    timeoutSecs: config.read_timeout_secs,
    bigNumbers: config.json_big_numbers,
  });
  return {
    pages: (request) => readPages({ reader, config, context, request }),
    close: () => reader.close(),
  };
}

interface Reading {
  readonly reader: Reader;
  readonly config: MysqlSourceConfig;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { reader, config, context, request } = reading;
  const { sql, columns } = await statementOf(reading);
  const frame = columns.reduce((sum, { name }) => sum + name.length + 4, 2);
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const schema = { fields: columns.map(({ field }) => field) };
  const { lane, limit } = request;
  const marks = marksOf(reading, columns);
  if (rowLines.isOn() && marks === undefined && isLines(lane) && becomeLines(columns)) {
    const store = createLineStore({ columns, frame, bounds, schema, limit });
    for await (const page of reader.takenBy(store, sql, columns)) {
      yield page;
      context.signal.throwIfAborted();
    }
    return;
  }
  yield* cutPages(reader.rowsOf(sql, columns), {
    collector: collectorOf(lane, columns, () => columns.map(fieldOf)),
    exact: columns.map(exactColumn),
    frame,
    bounds,
    schema,
    signal: context.signal,
    limit,
    marks,
  });
}

function isLines(lane: Lane): boolean {
  return lane.form === 'bytes' && lane.encoding === JSON_LINES.name;
}

/** Whether packets of such rows can be written as lines at once. */
function becomeLines(columns: readonly MysqlColumn[]): boolean {
  return keepsColumnOrder(columns) && !hasFloats(columns);
}

interface Statement {
  readonly sql: string;
  readonly columns: readonly MysqlColumn[];
}

async function statementOf({ reader, config, context, request }: Reading): Promise<Statement> {
  const { query, params, replication } = config;
  const input = { query, params, records: context.records };
  if (replication.type === 'full') {
    const sql = compileQuery(input);
    return { sql, columns: await reader.columnsOf(sql) };
  }
  const { column, initial_value: initial } = replication;
  const bookmark = readBookmark(request.bookmark);
  const sql = compileQuery({ ...input, incremental: { column, initial, bookmark } });
  const columns = await reader.columnsOf(sql);
  if (columns.find(({ name }) => sameName(name, column))?.value !== 'instant')
    return { sql, columns };
  // The server does not read the spelling that records have.
  const inServerTime = (value: JsonValue): JsonValue =>
    typeof value === 'string' ? serverTime(value) : value;
  const incremental = {
    column,
    initial: inServerTime(initial),
    bookmark: bookmark && { ...bookmark, value: inServerTime(bookmark.value) },
  };
  return { sql: compileQuery({ ...input, incremental }), columns };
}

function fieldOf({ name, form, decode }: MysqlColumn): CopyField {
  return { name, form, decode: (rows, from, to) => decode(fieldText(rows, from, to)) };
}

function marksOf(
  { config, context, request }: Reading,
  columns: readonly MysqlColumn[],
): { readonly bookmarks: Bookmarks; readonly column: number } | undefined {
  if (config.replication.type !== 'incremental') return undefined;
  const { column: name } = config.replication;
  const place = columns.findIndex((column) => sameName(column.name, name));
  const column = columns[place];
  if (column === undefined) return undefined;
  const exact: TextColumn = exactColumn(column);
  return {
    bookmarks: createBookmarks(
      request.bookmark,
      {
        name,
        isLoose: column.isLoose,
        isDecimal: column.field.type.kind === 'decimal',
        decode: exact.decode,
      },
      context,
    ),
    column: place,
  };
}

/** Names of columns are the same in any case. */
function sameName(one: string, other: string): boolean {
  return inOneCase(one) === inOneCase(other);
}
