import { hasField, isObject, jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { compilePath } from '../../_http/json-path.ts';
import { LastFew, repeatsBefore } from '../../_http/repeated-pages.ts';
import { nextLink } from '../../_http/url.ts';
import type { Pagination } from '../config/pagination-config.ts';
import { comparePositions } from '../../_http/positions.ts';
import type { Overlay } from '../request/request-parts.ts';

/** What a pager knows of an answer. */
export interface PageAnswer {
  readonly body: JsonValue;
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  /** Where the answer came from, for relative links. */
  readonly url: string;
  /** Records of the page, before any is left out. */
  readonly records: readonly JsonValue[];
}

/** Walks the pages of one result. */
export interface Pager {
  readonly first: Overlay;
  /** The request after this answer, or `undefined` when it was the last. */
  next(answer: PageAnswer): Overlay | undefined;
  /** Whether the answer repeats the one before, so that its records must be left out. */
  repeats?(answer: PageAnswer): boolean;
  /** A cursor for the newest known page, where the style has one. */
  cursor?(): JsonValue | undefined;
  /** Whether each page but the first is one that the service itself has named. */
  readonly isNamed?: boolean;
  /** How many records the service says there are, where fewer came. */
  shortOf?(): number | undefined;
}

/** `resume` is a cursor kept by an earlier run. */
export function createPager(style: Pagination, resume?: JsonValue): Pager {
  switch (style.type) {
    case 'None':
      return { first: {}, next: () => undefined };
    case 'Cursor':
      return cursorPager(
        style.next_token_path,
        (token) => ({ query: [[style.param_name, jsonText(token)]] }),
        resume,
      );
    case 'CursorInBody':
      return cursorPager(
        style.next_token_path,
        (token) => ({ body: [[style.body_cursor_field, token]] }),
        resume,
      );
    case 'LinkHeader':
      return linkPager((answer) => nextLink(answer.headers.get('link')));
    case 'NextLinkInBody': {
      const read = compilePath(style.next_link_path);
      return linkPager((answer) => read(answer.body)[0]);
    }
    case 'PageNumber':
      return pageNumberPager(style);
    case 'Offset':
      return offsetPager({
        limit: style.limit,
        stopWhenShort: true,
        total: style.total_path,
        overlay: (offset) => ({
          query: [
            [style.offset_param, String(offset)],
            [style.limit_param, String(style.limit)],
          ],
        }),
      });
    case 'OffsetInBody':
      return offsetPager({
        limit: style.limit,
        stopWhenShort: style.stop_when_short,
        total: style.total_path,
        rows: style.rows_path,
        overlay: (offset) => ({
          body: [
            [style.offset_field, offset],
            ...(style.limit_field === undefined ? [] : [[style.limit_field, style.limit] as const]),
          ],
        }),
      });
    case 'RecordFieldCursor':
      return fieldPager(style, resume);
    default:
      return style satisfies never;
  }
}

function cursorPager(
  path: string,
  place: (token: JsonValue) => Overlay,
  resume: JsonValue | undefined,
): Pager {
  const read = compilePath(path);
  const seen = new LastFew();
  if (resume !== undefined) seen.add(jsonText(resume));
  let held = resume;
  return {
    first: resume === undefined ? {} : place(resume),
    isNamed: true,
    cursor: () => held,
    next({ body }) {
      const [token] = read(body);
      if (token === undefined || token === null || token === '' || token === false)
        return undefined;
      if (!seen.add(jsonText(token))) return undefined;
      held = token;
      return place(token);
    },
  };
}

function linkPager(find: (answer: PageAnswer) => JsonValue | undefined): Pager {
  const seen = new LastFew();
  return {
    first: {},
    isNamed: true,
    next(answer) {
      const link = find(answer);
      if (typeof link !== 'string' || link === '') return undefined;
      seen.add(answer.url);
      const target = URL.parse(link, answer.url);
      if (target === null || !seen.add(target.href)) return undefined;
      return { link: target.href };
    },
  };
}

function pageNumberPager(style: Extract<Pagination, { type: 'PageNumber' }>): Pager {
  const { page_size: size, page_size_param: sizeParam } = style;
  const extra =
    size === undefined || sizeParam === undefined ? [] : [[sizeParam, String(size)] as const];
  const step = (page: number): Overlay => ({ query: [[style.param_name, String(page)], ...extra] });
  const repeats = repeatsBefore();
  let page = style.start_page;
  return {
    first: step(page),
    repeats: ({ bytes }) => repeats(bytes),
    next({ records }) {
      if (records.length === 0) return undefined;
      page += 1;
      return step(page);
    },
  };
}

interface OffsetRules {
  readonly limit: number;
  readonly stopWhenShort: boolean;
  readonly total: string | undefined;
  readonly rows?: string | undefined;
  overlay(offset: number): Overlay;
}

function offsetPager(rules: OffsetRules): Pager {
  const total = rules.total === undefined ? undefined : compilePath(rules.total);
  const rows = rules.rows === undefined ? undefined : compilePath(rules.rows);
  const isBefore = repeatsBefore();
  let [offset, all] = [0, NaN];
  let wasShort = false;
  return {
    first: rules.overlay(0),
    // A service that does not look at the offset gives what it has again and again.
    repeats: ({ bytes }) => isBefore(bytes) && wasShort,
    shortOf: () => (offset < all ? all : undefined),
    next({ body, records }) {
      const count = rows === undefined ? records.length : countOf(rows(body));
      const told = Number(total?.(body)[0] ?? NaN);
      offset += count;
      if (!Number.isNaN(told)) all = told;
      wasShort = count < rules.limit;
      // Many services give fewer records than they are asked for.
      const isLast = Number.isNaN(told) ? rules.stopWhenShort && wasShort : offset >= told;
      return count === 0 || isLast ? undefined : rules.overlay(offset);
    },
  };
}

/** A path may match the rows, or the one list that holds them. */
function countOf(found: readonly JsonValue[]): number {
  const [only] = found;
  return found.length === 1 && Array.isArray(only) ? only.length : found.length;
}

function fieldPager(
  style: Extract<Pagination, { type: 'RecordFieldCursor' }>,
  resume: JsonValue | undefined,
): Pager {
  const place = (value: JsonValue): Overlay =>
    style.into === 'body'
      ? { body: [[style.param, value]] }
      : { query: [[style.param, jsonText(value)]] };
  const sign = style.agg === 'max' ? 1 : -1;
  let held = resume;
  return {
    first: resume === undefined ? {} : place(resume),
    cursor: () => held,
    next({ records }) {
      const isShort =
        style.page_size !== undefined && style.stop_when_short && records.length < style.page_size;
      const extreme = extremeOf(records, style.field, sign);
      if (
        extreme === undefined ||
        (held !== undefined && (comparePositions(extreme, held) ?? 1) * sign <= 0)
      )
        return undefined;
      held = extreme;
      return isShort ? undefined : place(extreme);
    },
  };
}

function extremeOf(
  records: readonly JsonValue[],
  field: string,
  sign: number,
): JsonValue | undefined {
  let extreme: JsonValue | undefined;
  for (const record of records) {
    const value = isObject(record) && hasField(record, field) ? record[field] : undefined;
    if (value === undefined || value === null) continue;
    if (extreme === undefined || (comparePositions(value, extreme) ?? 0) * sign > 0)
      extreme = value;
  }
  return extreme;
}
