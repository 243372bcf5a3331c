/** Where an incremental read stands, by a column of its records. */
import type { SourceContext } from '../../kit/context.ts';
import { MOST_SEEN, readBookmark } from '../../kit/stored-bookmark.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { createBookmarks, type BookmarkColumn, type Bookmarks } from './bookmarks.ts';

export interface RecordMarks {
  readonly bookmarks: Bookmarks;
  rawOf(this: void, record: JsonObject): string;
}

type MarkedColumn = Pick<BookmarkColumn, 'isLoose' | 'isDecimal'> & { readonly name: string };

export function recordMarks(
  bookmark: JsonValue | undefined,
  { name: column, ...how }: MarkedColumn,
  { env, row }: Pick<SourceContext, 'env' | 'row'>,
): RecordMarks {
  return {
    bookmarks: createBookmarks(readBookmark(bookmark), {
      ...how,
      decode: parseJson,
      onMany: () =>
        env.log.warn(
          'more records share the last value than a bookmark holds: such that come later are not read',
          { row, column, most: MOST_SEEN },
        ),
    }),
    rawOf: (record) => stringifyJson(record[column] ?? null),
  };
}
