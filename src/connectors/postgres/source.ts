/**
 * Reads with COPY where the whole result of a query is needed, and through a cursor where only a
 * part of it may be.
 */
import { pageBounds } from '../../kit/page-bounds.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Lane, Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import type { PostgresSourceConfig } from './config.ts';
import { CURSOR, openConnection, type Connection } from '../_postgres/connection.ts';
import { declareQuery } from './read/declare.ts';
import { copyOut } from './copy/copy-out.ts';
import { binaryDecoder, canPass, COPY_BINARY } from './copy/binary-rows.ts';
import { copyBinary } from '../../fast/fast-paths.ts';
import { collectorOf } from '../_sql/copy-text/collectors.ts';
import { cutPages, type TextColumn } from '../_sql/copy-text/text-pages.ts';
import { BOOKMARK_ROWS, passagePages } from './copy/binary-pages.ts';
import { fieldsOf } from './copy/text-forms.ts';
import { describeCursor } from '../_postgres/cursor.ts';
import { cursorPages, frameSize, marksOf } from '../_postgres/cursor-pages.ts';
import { decoderOf, type BigNumbers, type CopyColumn } from '../_postgres/decode.ts';
import { typesOf } from './types/logical-types.ts';
import { statementOf } from '../_postgres/query.ts';
import { withLiterals } from './read/query-literals.ts';

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
  if (sql !== undefined) yield* copyPages(reading, sql);
  else
    yield* cursorPages({
      ...reading,
      typesOf: (fields) => typesOf(connection, fields),
      decoderFor: (column, isExact) =>
        decoderOf(column, isExact ? 'string' : config.json_big_numbers),
    });
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
      { config, request, context },
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
      { config, request, context },
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
