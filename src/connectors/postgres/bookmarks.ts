import { jsonEqual, type JsonValue } from '../../lib/json.ts';
import { OID } from './decode.ts';

/** Where an incremental read stands, from the raw form of the column's values: only values that end a page are ever decoded. */
export interface Bookmarks {
  pass(raw: string): void;
  /** The bookmark of a page that ends before a row with this value. */
  before(raw: string): JsonValue | undefined;
  /** The bookmark when nobody knows what would have followed. */
  safe(): JsonValue | undefined;
  /** The bookmark at the end of the result. */
  end(): JsonValue | undefined;
}

/** A value stored by an earlier run, or one seen in this one. */
type Mark = { readonly stored: JsonValue | undefined } | { readonly raw: string };

/** Types with several raw forms of what is told as one value (negative zero, the infinities, spaces). */
const LOOSE: readonly number[] = [OID.float4, OID.float8, OID.json, OID.jsonb];

export interface BookmarkColumn {
  readonly oid: number;
  readonly decode: (raw: string) => JsonValue;
}

/** A bookmark is a value all rows of which were read: a page that ends between equal values keeps the one before. */
export function createBookmarks(start: JsonValue | undefined, { oid, decode }: BookmarkColumn): Bookmarks {
  const loose = LOOSE.includes(oid);
  let finished: Mark = { stored: start };
  let last: Mark = finished;
  let lastRaw: string | undefined;
  const valueOf = (mark: Mark): JsonValue | undefined => ('raw' in mark ? decode(mark.raw) : mark.stored);
  const isLast = (raw: string): boolean => raw === lastRaw || ((loose || lastRaw === undefined) && jsonEqual(decode(raw), valueOf(last)));
  return {
    pass(raw) {
      if (raw === lastRaw) return;
      if (!isLast(raw)) finished = last;
      last = { raw };
      lastRaw = raw;
    },
    before: (raw) => valueOf(isLast(raw) ? finished : last),
    safe: () => valueOf(finished),
    end: () => valueOf(last),
  };
}
