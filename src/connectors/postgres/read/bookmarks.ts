import { ConnectorError } from '../../../lib/errors.ts';
import { jsonEqual, type JsonValue } from '../../../lib/text/json.ts';
import { OID } from '../types/decode.ts';

/**
 * The position of an incremental read, from the raw form of the column's values: only values at the
 * end of a page are decoded.
 */
export interface Bookmarks {
  pass(raw: string): void;
  /** The bookmark of a page that ends before a row with this value. */
  before(raw: string): JsonValue | undefined;
  /** The bookmark when rows after a limit are unknown. */
  safe(): JsonValue | undefined;
  /** The bookmark at the end of the result. */
  end(): JsonValue | undefined;
}

/** A value stored by an earlier run, or one seen in this one. */
type Mark = { readonly stored: JsonValue | undefined } | { readonly raw: string };

/**
 * Types in which one value can have several raw forms (negative zero, the infinities, spaces,
 * trailing zeros).
 */
const LOOSE: readonly number[] = [OID.float4, OID.float8, OID.json, OID.jsonb, OID.numeric];

/**
 * Types whose equal values always have the same raw form: numbers, texts, bytes, days, times,
 * timestamps, UUIDs.
 */
const CERTAIN: ReadonlySet<number> = new Set([
  16, 17, 19, 20, 21, 23, 25, 26, 700, 701, 1043, 1082, 1083, 1114, 1184, 1700, 2950,
]);

export interface BookmarkColumn {
  readonly name: string;
  readonly oid: number;
  readonly decode: (raw: string) => JsonValue;
  /** No bookmark between equal values, instead of the previous one. */
  readonly exact: boolean;
}

/**
 * A bookmark is a value whose rows were all read: a page that ends between equal values keeps the
 * previous one.
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

/** For the server `1.0` and `1.00` are equal. */
function withoutZeros(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}

function uncertain(name: string): ConnectorError {
  const message = `of the type of column \`${name}\` equal values may have different texts, so its values are not exact positions`;
  return new ConnectorError('refused', message, {
    hint: 'order by a number, a text, a timestamp or a UUID, or use `at_least_once` delivery',
  });
}
