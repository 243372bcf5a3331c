/** Where an incremental read of a query stands, row by row. */
import { jsonEqual, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import { digestOfRecord, MOST_SEEN, readBookmark, SeenRecords } from '../../kit/stored-bookmark.ts';

/** Reads the record of a row; called only for rows whose value may be the last. */
export type RecordOf = () => JsonValue;

/** Gets the raw form of the column's values, which are decoded only where a bookmark needs it. */
export interface Bookmarks {
  /** Whether rows may come that an earlier run has read: without, `wasRead` need not be asked. */
  readonly mayRepeat: boolean;
  /** Whether an earlier run has read the row. */
  wasRead(raw: string, record: RecordOf): boolean;
  pass(raw: string, record: RecordOf): void;
  /** Reads the records that were passed: what they are read from may change afterwards. */
  settle(): void;
  /** The bookmark of a page that ends before a row with this value. */
  before(raw: string): JsonValue | undefined;
  /** The bookmark when rows after a limit are unknown. */
  safe(): JsonValue | undefined;
  /** The bookmark at the end of the result. */
  end(): JsonValue | undefined;
  isSame(raw: string, other: string): boolean;
}

/** A value stored by an earlier run, or one seen in this one. */
type Mark = { readonly stored: JsonValue | undefined } | { readonly raw: string };

export interface BookmarkColumn {
  readonly name: string;
  /**
   * Whether one value can have several raw forms (negative zero, the infinities, spaces, trailing
   * zeros).
   */
  readonly isLoose: boolean;
  /** Whether values are texts that spell exact decimals. */
  readonly isDecimal: boolean;
  readonly decode: (raw: string) => JsonValue;
}

/** `bookmark` is the one of an earlier run. */
export function createBookmarks(
  bookmark: JsonValue | undefined,
  { name: column, isLoose: loose, isDecimal, decode }: BookmarkColumn,
  { env, row }: Pick<SourceContext, 'env' | 'row'>,
): Bookmarks {
  const start = readBookmark(bookmark);
  const warnMany = (): void =>
    env.log.warn(
      'more records share the last value than a bookmark holds: such that come later are not read',
      { row, column, most: MOST_SEEN },
    );
  let last: Mark = { stored: start?.value };
  let lastRaw: string | undefined;
  let seen = start?.seen ?? [];
  let pending: RecordOf[] = [];
  let isFull = false;
  let left = new SeenRecords(seen);
  const plain = (value: JsonValue | undefined) =>
    isDecimal && typeof value === 'string' ? withoutZeros(value) : value;
  const valueOf = (mark: Mark): JsonValue | undefined =>
    'raw' in mark ? decode(mark.raw) : mark.stored;
  const isLast = (raw: string): boolean =>
    raw === lastRaw ||
    ((loose || lastRaw === undefined) && jsonEqual(plain(decode(raw)), plain(valueOf(last))));
  const settle = (): void => {
    if (pending.length === 0) return;
    seen = [...seen, ...pending.map((record) => digestOfRecord(record()))];
    pending = [];
  };
  const mark = (): JsonValue | undefined => {
    settle();
    const value = valueOf(last);
    return isFull || value === undefined ? undefined : { value, seen: [...seen] };
  };
  return {
    get mayRepeat() {
      return left.size > 0;
    },
    wasRead(raw, record) {
      if (left.size === 0) return false;
      if (!isLast(raw)) {
        left = new SeenRecords([]);
        return false;
      }
      return left.take(record());
    },
    pass(raw, record) {
      if (raw !== lastRaw) {
        if (!isLast(raw)) {
          [seen, pending, isFull] = [[], [], false];
        }
        last = { raw };
        lastRaw = raw;
      }
      if (isFull) return;
      if (seen.length + pending.length < MOST_SEEN) pending.push(record);
      else [seen, pending, isFull] = [[], [], true];
    },
    settle,
    before: (raw) => mark() ?? (isLast(raw) ? undefined : valueOf(last)),
    safe: mark,
    end() {
      if (isFull) warnMany();
      return mark() ?? valueOf(last);
    },
    isSame: (raw, other) =>
      raw === other || (loose && jsonEqual(plain(decode(raw)), plain(decode(other)))),
  };
}

/** For the server `1.0` and `1.00` are equal. */
function withoutZeros(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}
