/** Which record of the source a record behind transforms and stages was made of. */
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { Page } from '../../kit/page.ts';
import { readRecord } from '../../kit/column-records.ts';
import type { Columns } from '../../kit/columns.ts';

/**
 * For each record the place of the one that it was made of; `undefined`: each is in the same place;
 * `null`: nobody knows.
 */
export type Origins = readonly number[] | Uint32Array | null | undefined;

export interface PageOrigins {
  /** Of the records that left the transforms, in the page as it was read. */
  readonly transforms: Origins;
  /** Of the records that left the stages, in the page that left the transforms. */
  readonly stages: Uint32Array | undefined;
}

export function originAt(origins: Origins, place: number): number | undefined {
  return origins === undefined ? place : (origins?.[place] ?? undefined);
}

/** `later` are places among the records that `earlier` tells of. */
export function joinOrigins(earlier: Origins, later: Origins): Origins {
  if (earlier === undefined || later === null) return later;
  if (later === undefined || earlier === null) return earlier;
  return Uint32Array.from(later, (place) => earlier[place] ?? 0);
}

/** Rows keep their numbers and their order while stages work on columns. */
export function originsOfRows(before: Columns, after: Columns): Origins {
  if (before.count === after.count) return undefined;
  if (before.count === before.height) return after.rows.slice();
  let place = 0;
  return after.rows.map((row) => {
    while (place < before.count && before.rows[place] !== row) place += 1;
    return place;
  });
}

/**
 * Reads the records of a page as they are now, also after transforms have changed them in place. Valid
 * until the page is released.
 */
export function recordsAsRead(page: Page): (place: number) => JsonValue | undefined {
  const { columns } = page;
  if (columns !== undefined)
    return (place) => (place < columns.count ? readRecord(columns, place) : undefined);
  // Transforms change the top level of a record in place, and nothing below it.
  const copies =
    page.form.form === 'records'
      ? page.records().map((record) => (isObject(record) ? { ...record } : record))
      : undefined;
  let decoded: readonly JsonValue[] | undefined;
  return (place) => (copies ?? (decoded ??= page.decodeAgain()))[place];
}
