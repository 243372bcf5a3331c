import { ConnectorError } from '../../../lib/errors.ts';
import { jsonEqual, type JsonValue } from '../../../lib/text/json.ts';
import { OID } from '../types/decode.ts';

/**
 * Where an incremental read stands, from the raw form of the column's values: only values that end
 * a page are ever decoded.
 */
export interface Bookmarks {
  pass(raw: string): void;
  /** The bookmark of a page that ends before a row with this value. */
  before(raw: string): JsonValue | undefined;
  /** The bookmark when a limit hides what would have followed. */
  safe(): JsonValue | undefined;
  /** The bookmark at the end of the result. */
  end(): JsonValue | undefined;
}

/** A value stored by an earlier run, or one seen in this one. */
type Mark = { readonly stored: JsonValue | undefined } | { readonly raw: string };

/**
 * Types with several raw forms of what is told as one value (negative zero, the infinities, spaces,
 * zeros at the end).
 */
const LOOSE: readonly number[] = [OID.float4, OID.float8, OID.json, OID.jsonb, OID.numeric];

/**
 * Types of which equal values are known to be equal: numbers, texts, bytes, days, times, moments,
 * UUIDs.
 */
const CERTAIN: ReadonlySet<number> = new Set([
  16, 17, 19, 20, 21, 23, 25, 26, 700, 701, 1043, 1082, 1083, 1114, 1184, 1700, 2950,
]);

export interface BookmarkColumn {
  readonly name: string;
  readonly oid: number;
  readonly decode: (raw: string) => JsonValue;
  /** No bookmark at all between equal values, instead of the one before them. */
  readonly exact: boolean;
}

/**
 * A bookmark is a value all rows of which were read: a page that ends between equal values keeps
 * the one before.
 */
export function createBookmarks(
  start: JsonValue | undefined,
  { name, oid, decode, exact }: BookmarkColumn,
): Bookmarks {
  if (exact && !CERTAIN.has(oid)) throw uncertain(name);
  const loose = LOOSE.includes(oid);
  let finished: Mark = { stored: start };
  let last: Mark = finished;
  let lastRaw: string | undefined;
  const plain = (value: JsonValue | undefined) =>
    oid === OID.numeric && typeof value === 'string' ? withoutZeros(value) : value;
  const valueOf = (mark: Mark): JsonValue | undefined =>
    'raw' in mark ? decode(mark.raw) : mark.stored;
  const isLast = (raw: string): boolean =>
    raw === lastRaw ||
    ((loose || lastRaw === undefined) && jsonEqual(plain(decode(raw)), plain(valueOf(last))));
  return {
    pass(raw) {
      if (raw === lastRaw) return;
      if (!isLast(raw)) finished = last;
      last = { raw };
      lastRaw = raw;
    },
    before(raw) {
      if (!isLast(raw)) return valueOf(last);
      return exact ? undefined : valueOf(finished);
    },
    safe: () => (exact ? undefined : valueOf(finished)),
    end: () => valueOf(last),
  };
}

/** The server takes `1.0` and `1.00` for equal. */
function withoutZeros(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}

function uncertain(name: string): ConnectorError {
  const message = `of the type of column \`${name}\` equal values may be spelled differently, so its values are no exact positions`;
  return new ConnectorError('refused', message, {
    hint: 'order by a number, a text, a moment or a UUID, or deliver `at_least_once`',
  });
}
