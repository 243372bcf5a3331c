/**
 * Reads with COPY where the whole result of a query is needed, and through a cursor where only a
 * part of it may be.
 */
import type { FieldDef } from 'pg';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Lane, Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { createPager } from '../_sql/pager.ts';
import { MOST_SEEN, readBookmark } from '../../kit/stored-bookmark.ts';
import { createBookmarks, type Bookmarks } from '../_sql/bookmarks.ts';
import type { PostgresSourceConfig } from './config.ts';
import { CURSOR, declareQuery, openConnection, type Connection } from './read/connection.ts';
import { copyOut } from './copy/copy-out.ts';
import { binaryDecoder, canPass, COPY_BINARY } from './copy/binary-rows.ts';
import { copyBinary } from '../../fast/fast-paths.ts';
import { collectorOf } from '../_sql/copy-text/collectors.ts';
import { cutPages, type TextColumn } from '../_sql/copy-text/text-pages.ts';
import { BOOKMARK_ROWS, passagePages } from './copy/binary-pages.ts';
import { fieldsOf } from './copy/text-forms.ts';
import { cursorChunks, describeCursor, type RawRow } from './read/cursor.ts';
import { decoderOf, LOOSE, OID, type BigNumbers, type CopyColumn } from '../_postgres/decode.ts';
import { typesOf, type ResultTypes } from './types/logical-types.ts';
import { compileQuery } from './read/query.ts';
import { withLiterals } from './read/query-literals.ts';

/** Rows per fetch when `batch_size` sets no bound. */
const UNBOUNDED_FETCH = 1000;

export async function openPostgresSource(
  config: PostgresSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const connection = await openConnection({
    url: config.connection_url,
    timeoutSecs: config.read_timeout_secs,
    signal: context.signal,
  });
  return {
    pages: (request) => readPages({ connection, config, context, request }),
    close: () => connection.close(),
  };
}

interface Reading {
  readonly connection: Connection;
  readonly config: PostgresSourceConfig;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { connection, config, context, request } = reading;
  const statement = statementOf(config, context, request);
  await connection.ask(() => declareQuery(connection, statement));
  // COPY takes longer to return its first row, so it is not used for a few rows or for one of many
  // small results.
  const wantsAll = request.limit === undefined && context.parent === undefined;
  const sql = wantsAll ? await withLiterals(connection, statement) : undefined;
  yield* sql === undefined ? cursorPages(reading) : copyPages(reading, sql);
}

async function* copyPages(
  { connection, config, context, request }: Reading,
  sql: string,
): AsyncGenerator<Page, void> {
  const fields = await describeCursor(connection);
  const { schema, columns } = await typesOf(connection, fields);
  // The duration of the statement depends on the sink; the reader itself limits the wait for rows.
  await connection.ask(() =>
    connection.client.query(`CLOSE ${CURSOR}; SET LOCAL statement_timeout = 0`),
  );
  const shared = {
    columns,
    bigNumbers: config.json_big_numbers,
    bounds: pageBounds(config.batch_size, context.pageBytes),
    schema,
  };
  if (passes(request.lane, columns)) {
    const marks = marksOf(
      config,
      { request, context },
      {
        columns,
        decoderFor: (column) => binaryDecoder(column, config.json_big_numbers),
      },
    );
    const chunks = copyOut(connection, `COPY (\n${sql}\n) TO STDOUT (FORMAT binary)`);
    yield* passagePages(chunks, {
      ...shared,
      signal: context.signal,
      marks: marks && { ...marks, every: BOOKMARK_ROWS },
    });
  } else {
    const marks = marksOf(
      config,
      { request, context },
      {
        columns,
        decoderFor: (column) => decoderOf(column, config.json_big_numbers),
      },
    );
    const collector = collectorOf(request.lane, textColumns(columns, config.json_big_numbers), () =>
      fieldsOf(columns, config.json_big_numbers),
    );
    const chunks = copyOut(connection, `COPY (\n${sql}\n) TO STDOUT`);
    yield* cutPages(chunks, {
      bounds: shared.bounds,
      schema,
      exact: textColumns(columns, 'string'),
      collector,
      frame: frameSize(fields),
      signal: context.signal,
      marks,
    });
  }
  await connection.ask(() => connection.client.query('COMMIT'));
}

function passes(lane: Lane, columns: readonly CopyColumn[]): boolean {
  return (
    copyBinary.isOn() && lane.form === 'bytes' && lane.encoding === COPY_BINARY && canPass(columns)
  );
}

/** The columns with the decoders of their values. */
function textColumns(columns: readonly CopyColumn[], bigNumbers: BigNumbers): TextColumn[] {
  return columns.map((column) => ({ name: column.name, decode: decoderOf(column, bigNumbers) }));
}

interface Values {
  readonly columns: readonly CopyColumn[];
  readonly decoderFor: (column: CopyColumn) => (raw: string) => JsonValue;
}

interface Marks {
  readonly bookmarks: Bookmarks;
  readonly column: number;
}

function marksOf(
  config: PostgresSourceConfig,
  { request, context }: Pick<Reading, 'request' | 'context'>,
  { columns, decoderFor }: Values,
): Marks | undefined {
  if (config.replication.type !== 'incremental') return undefined;
  const { column: name } = config.replication;
  const column = columns.findLastIndex((one) => one.name === name);
  const found = columns[column] ?? { name, oid: 0 };
  return {
    bookmarks: createBookmarks(readBookmark(request.bookmark), {
      isLoose: LOOSE.includes(found.oid),
      isDecimal: found.oid === OID.numeric,
      decode: decoderFor(found),
      onMany: () =>
        context.env.log.warn(
          'more records share the last value than a bookmark holds: such that come later are not read',
          { row: context.row, column: name, most: MOST_SEEN },
        ),
    }),
    column,
  };
}

async function* cursorPages({
  connection,
  config,
  context,
  request,
}: Reading): AsyncGenerator<Page, void> {
  const limit = request.limit ?? Number.POSITIVE_INFINITY;
  let types: ResultTypes | undefined;
  const pager = createPager({
    bounds: pageBounds(config.batch_size, context.pageBytes),
    limit,
    schema: () => types?.schema,
  });
  const decoderFor = (column: CopyColumn) => decoderOf(column, config.json_big_numbers);
  let marks: Marks | undefined;
  let full = false;
  for await (const chunk of cursorChunks(connection, fetchBounds(config, context, limit))) {
    types ??= await typesOf(connection, chunk.fields);
    const { columns } = types;
    marks ??= marksOf(config, { request, context }, { columns, decoderFor });
    const exactRecord = recordReader(columns, 'string');
    const toRecord = recordReader(columns, config.json_big_numbers);
    const frame = frameSize(chunk.fields);
    for (const [index, row] of chunk.rows.entries()) {
      const raw = marks === undefined ? '' : (row[marks.column] ?? '');
      if (marks?.bookmarks.wasRead(raw, () => exactRecord(row)) === true) continue;
      // The record after a page shows whether the page ended in the middle of equal values.
      if (full) yield pager.take(marks?.bookmarks.before(raw));
      marks?.bookmarks.pass(raw, () => exactRecord(row));
      full = pager.add(toRecord(row), frame + (chunk.sizes[index] ?? 0));
      if (pager.done) {
        yield pager.take(marks?.bookmarks.safe());
        return;
      }
    }
  }
  if (pager.count > 0) yield pager.take(marks?.bookmarks.end());
}

function fetchBounds(
  config: PostgresSourceConfig,
  context: SourceContext,
  limit: number,
): { most: number; bytes: number } {
  return {
    most: Math.min(limit, config.batch_size === 0 ? UNBOUNDED_FETCH : config.batch_size),
    bytes: context.pageBytes,
  };
}

function statementOf(config: PostgresSourceConfig, context: SourceContext, request: ReadRequest) {
  const { query, params, replication } = config;
  const base = { query, params, records: context.records };
  if (replication.type === 'full') return compileQuery(base);
  return compileQuery({
    ...base,
    incremental: {
      column: replication.column,
      initial: replication.initial_value,
      bookmark: readBookmark(request.bookmark),
    },
  });
}

function recordReader(
  types: readonly CopyColumn[],
  bigNumbers: BigNumbers,
): (row: RawRow) => JsonObject {
  const columns = textColumns(types, bigNumbers);
  return (row) => {
    const record: JsonObject = {};
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index];
      const text = row[index];
      if (column !== undefined)
        setField(
          record,
          column.name,
          text === null || text === undefined ? null : column.decode(text),
        );
    }
    return record;
  };
}

/** Bytes that the names and punctuation of a record add to its values. */
function frameSize(fields: readonly FieldDef[]): number {
  return fields.reduce((sum, field) => sum + field.name.length + 4, 2);
}
