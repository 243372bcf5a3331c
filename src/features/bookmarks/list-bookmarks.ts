/** What a document has stored, with its values. */
import { readPosition } from '../../engine/delivery/watermark.ts';
import { wrapConnectorError } from '../../engine/failure.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { openStores, rowsOf, type StateRequest, type StoredEntry } from './stores.ts';

export interface StoredValue extends StoredEntry {
  /** As the store holds it. */
  readonly value: JsonValue;
  /** Without what delivery adds to it. */
  readonly bookmark: JsonValue;
  /** Pages that the destination had committed by then; absent unless it is exactly once. */
  readonly commit?: number;
}

export interface RowState {
  readonly row: PlannedRow;
  readonly bookmarks: readonly StoredValue[];
}

export interface DocumentState {
  readonly rows: readonly RowState[];
  /** Whatever is no bookmark of a row. */
  readonly others: readonly StoredValue[];
}

export async function listBookmarks(request: StateRequest): Promise<DocumentState> {
  await using closers = new AsyncDisposableStack();
  const values: StoredValue[] = [];
  for (const { store, type, entries } of await openStores(request, closers)) {
    for (const entry of await entries()) {
      const value = await store.get(entry.key).catch((error: unknown) => {
        throw wrapConnectorError('State', type, error);
      });
      // A run may have removed it since it was listed.
      if (value !== undefined) values.push(withBookmark(entry, value));
    }
  }
  const isBookmark = ({ kind }: StoredEntry): boolean => kind === 'bookmark';
  return {
    rows: rowsOf(request).map((row) => ({
      row,
      bookmarks: values.filter((one) => isBookmark(one) && one.row === row),
    })),
    others: values.filter((one) => !isBookmark(one)),
  };
}

function withBookmark(entry: StoredEntry, value: JsonValue): StoredValue {
  const { bookmark = value, seq } = readPosition(value);
  return { ...entry, value, bookmark, ...(seq === 0 ? {} : { commit: seq }) };
}
