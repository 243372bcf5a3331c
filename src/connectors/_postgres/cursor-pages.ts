/** Pages of a declared query that is read through its cursor, and where they stand. */
import type { FieldDef } from 'pg';
import { setField, type JsonObject } from '../../lib/text/json.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { ReadRequest } from '../../kit/source.ts';
import { createBookmarks, type Bookmarks } from '../_sql/bookmarks.ts';
import type { TextColumn } from '../_sql/copy-text/text-pages.ts';
import { createPager } from '../_sql/pager.ts';
import type { Connection } from './connection.ts';
import { cursorChunks, type RawRow } from './cursor.ts';
import { LOOSE, OID, type CopyColumn, type Decoder } from './decode.ts';

/** Rows per fetch when `batch_size` sets no bound. */
const UNBOUNDED_FETCH = 1000;

/** The position of a read in the order of a column. */
export interface Marks {
  readonly bookmarks: Bookmarks;
  readonly column: number;
}

export interface Reading {
  readonly config: {
    readonly batch_size: number;
    readonly replication:
      | { readonly type: 'full' }
      | { readonly type: 'incremental'; readonly column: string };
  };
  readonly context: Pick<SourceContext, 'env' | 'row' | 'pageBytes'>;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
}

interface Values {
  readonly columns: readonly CopyColumn[];
  readonly decoderFor: (column: CopyColumn) => Decoder;
}

/** `undefined` where the whole result is read every time. */
export function marksOf(
  { config, request, context }: Reading,
  { columns, decoderFor }: Values,
): Marks | undefined {
  if (config.replication.type !== 'incremental') return undefined;
  const { column: name } = config.replication;
  const column = columns.findLastIndex((one) => one.name === name);
  const found = columns[column] ?? { name, oid: 0 };
  return {
    bookmarks: createBookmarks(
      request.bookmark,
      {
        name,
        isLoose: LOOSE.includes(found.oid),
        isDecimal: found.oid === OID.numeric,
        decode: decoderFor(found),
      },
      context,
    ),
    column,
  };
}

export interface CursorReading extends Reading {
  readonly connection: Connection;
  /** Rows that the server gives for one FETCH at most. */
  readonly mostFetched?: number;
  /** Asked once, when the columns of the result are known. */
  typesOf(fields: readonly FieldDef[]): Promise<{
    readonly schema: RecordSchema;
    readonly columns: readonly CopyColumn[];
  }>;
  /** With `isExact` all numbers are told apart, for bookmarks. */
  decoderFor(this: void, column: CopyColumn, isExact: boolean): Decoder;
}

export async function* cursorPages(reading: CursorReading): AsyncGenerator<Page, void> {
  const { connection, config, context, request, decoderFor } = reading;
  let types: Awaited<ReturnType<CursorReading['typesOf']>> | undefined;
  const pager = createPager({
    bounds: pageBounds(config.batch_size, context.pageBytes),
    limit: request.limit,
    schema: () => types?.schema,
  });
  let marks: Marks | undefined;
  let full = false;
  for await (const chunk of cursorChunks(connection, fetchBounds(reading))) {
    types ??= await reading.typesOf(chunk.fields);
    const { columns } = types;
    marks ??= marksOf(reading, { columns, decoderFor: (column) => decoderFor(column, false) });
    const exactRecord = recordReader(columns, (column) => decoderFor(column, true));
    const toRecord = recordReader(columns, (column) => decoderFor(column, false));
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

function fetchBounds({ config, context, request, mostFetched = Infinity }: CursorReading): {
  most: number;
  bytes: number;
} {
  const { limit = Infinity } = request;
  const most = config.batch_size === 0 ? UNBOUNDED_FETCH : config.batch_size;
  return { most: Math.min(limit, most, mostFetched), bytes: context.pageBytes };
}

function recordReader(
  columns: readonly CopyColumn[],
  decoderFor: (column: CopyColumn) => Decoder,
): (row: RawRow) => JsonObject {
  const read: TextColumn[] = columns.map((column) => ({
    name: column.name,
    decode: decoderFor(column),
  }));
  return (row) => {
    const record: JsonObject = {};
    for (let index = 0; index < read.length; index += 1) {
      const column = read[index];
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
export function frameSize(fields: readonly FieldDef[]): number {
  return fields.reduce((sum, field) => sum + field.name.length + 4, 2);
}
