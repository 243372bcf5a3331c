/** Where an incremental read stands, by a column of its records. */
import type { SourceContext } from '../../kit/context.ts';
import type { RecordField } from '../../kit/record-schema.ts';
import type { ReadRequest } from '../../kit/source.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { createBookmarks, type BookmarkColumn, type Bookmarks } from './bookmarks.ts';

export interface RecordMarks {
  readonly bookmarks: Bookmarks;
  rawOf(this: void, record: JsonObject): string;
}

type MarkedColumn = Omit<BookmarkColumn, 'decode'>;

export function recordMarks(
  bookmark: JsonValue | undefined,
  column: MarkedColumn,
  context: Pick<SourceContext, 'env' | 'row'>,
): RecordMarks {
  return {
    bookmarks: createBookmarks(bookmark, { ...column, decode: parseJson }, context),
    rawOf: (record) => stringifyJson(record[column.name] ?? null),
  };
}

interface IncrementalReading {
  readonly config: { readonly replication: { readonly type: string; readonly column?: string } };
  readonly context: Pick<SourceContext, 'env' | 'row'>;
  readonly request: Pick<ReadRequest, 'bookmark'>;
}

/**
 * By the column of a result that the document names. `undefined` where the whole result is read every
 * time. `comparable` gives names that the database takes for one the same form.
 */
export function resultMarks(
  { config: { replication }, context, request }: IncrementalReading,
  fields: readonly Pick<RecordField, 'name' | 'type'>[],
  comparable: (name: string) => string = (name) => name,
): RecordMarks | undefined {
  const { column: written } = replication;
  if (replication.type !== 'incremental' || written === undefined) return undefined;
  const found = fields.find(({ name }) => comparable(name) === comparable(written));
  const kind = found?.type.kind ?? '';
  const column = {
    name: found?.name ?? written,
    isLoose: kind === 'decimal' || kind.startsWith('float'),
    isDecimal: kind === 'decimal',
  };
  return recordMarks(request.bookmark, column, context);
}
