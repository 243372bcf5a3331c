import { jsonEqual, setField, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { createPager } from '../_sql/pager.ts';
import type { PostgresSourceConfig } from './config.ts';
import { openCursor, type Cursor, type RawChunk, type RawRow } from './cursor.ts';
import { decoderOf } from './decode.ts';
import { compileQuery } from './query.ts';

/** Rows asked for at once when `batch_size` sets no bound. */
const UNBOUNDED_FETCH = 1000;

export async function openPostgresSource(config: PostgresSourceConfig, context: SourceContext): Promise<Source> {
  const cursor = await openCursor({ url: config.connection_url, timeoutSecs: config.read_timeout_secs, signal: context.signal });
  return {
    pages: (request) => readPages({ cursor, config, context, request }),
    close: () => cursor.close(),
  };
}

interface Reading {
  readonly cursor: Cursor;
  readonly config: PostgresSourceConfig;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

async function* readPages({ cursor, config, context, request }: Reading): AsyncGenerator<Page, void> {
  const limit = request.limit ?? Number.POSITIVE_INFINITY;
  const pager = createPager({ batchSize: config.batch_size, pageBytes: context.pageBytes, limit });
  const marks = config.replication.type === 'incremental' ? bookmarks(config.replication.column, request.bookmark) : undefined;
  let full = false;
  for await (const chunk of cursor.chunks(statementOf(config, context, request), fetchBounds(config, context, limit))) {
    const toRecord = recordReader(chunk, config);
    const frame = frameSize(chunk);
    for (const [index, row] of chunk.rows.entries()) {
      const record = toRecord(row);
      // Only the record after a page tells whether the page ended in the middle of equal values.
      if (full) yield pager.take(marks?.before(record));
      marks?.pass(record);
      full = pager.add(record, frame + (chunk.sizes[index] ?? 0));
      if (pager.done) {
        yield pager.take(marks?.safe());
        return;
      }
    }
  }
  if (pager.count > 0) yield pager.take(marks?.end());
}

function fetchBounds(config: PostgresSourceConfig, context: SourceContext, limit: number): { most: number; bytes: number } {
  return { most: Math.min(limit, config.batch_size === 0 ? UNBOUNDED_FETCH : config.batch_size), bytes: context.pageBytes };
}

function statementOf(config: PostgresSourceConfig, context: SourceContext, request: ReadRequest) {
  const { query, params, replication } = config;
  const base = { query, params, parent: context.parent };
  if (replication.type === 'full') return compileQuery(base);
  return compileQuery({
    ...base,
    incremental: { column: replication.column, initial: replication.initial_value, bookmark: request.bookmark },
  });
}

function recordReader(chunk: RawChunk, config: PostgresSourceConfig): (row: RawRow) => JsonObject {
  const columns = chunk.fields.map(({ name, dataTypeID }) => ({ name, decode: decoderOf(dataTypeID, name, config.json_big_numbers) }));
  return (row) => {
    const record: JsonObject = {};
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index];
      const text = row[index];
      if (column !== undefined) setField(record, column.name, text === null || text === undefined ? null : column.decode(text));
    }
    return record;
  };
}

/** What the names and punctuation of a record add to its values. */
function frameSize(chunk: RawChunk): number {
  return chunk.fields.reduce((sum, field) => sum + field.name.length + 4, 2);
}

interface Bookmarks {
  pass(record: JsonObject): void;
  /** The bookmark of a page that ends before `record`. */
  before(record: JsonObject): JsonValue | undefined;
  /** The bookmark when nobody knows what would have followed. */
  safe(): JsonValue | undefined;
  /** The bookmark at the end of the result. */
  end(): JsonValue | undefined;
}

/** A bookmark is a value all rows of which were read: a page that ends between equal values keeps the one before. */
function bookmarks(column: string, start: JsonValue | undefined): Bookmarks {
  let finished = start;
  let last = start;
  const valueOf = (record: JsonObject): JsonValue => record[column] ?? null;
  return {
    pass(record) {
      const value = valueOf(record);
      if (!jsonEqual(value, last)) finished = last;
      last = value;
    },
    before: (record) => (jsonEqual(valueOf(record), last) ? finished : last),
    safe: () => finished,
    end: () => last,
  };
}
