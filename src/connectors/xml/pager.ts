/** Walks the pages of a service. */
import type { JsonValue } from '../../lib/text/json.ts';
import { elementsBelow } from '../../lib/xml/xml-document.ts';
import { escapeXmlText } from '../_files/xml/xml-escape.ts';
import { LastFew, repeatsBefore } from '../_http/repeated-pages.ts';
import type { QueryPairs } from '../_http/url.ts';
import { NEXT_TOKEN, type XmlPagination } from './config.ts';

/** What the request for a page changes. */
export interface PageChange {
  readonly query?: QueryPairs;
  /** In place of the configured body, or of the content of the SOAP body. */
  readonly body?: string;
}

export interface XmlPager {
  readonly first: PageChange;
  /** Whether a page names the one after it, which then has to be there. */
  readonly isNamed: boolean;
  /**
   * After an answer with so many records; undefined when it was the last. Paths are looked up where
   * the records are first, and then in the whole document.
   */
  next(places: readonly JsonValue[], records: number): PageChange | undefined;
  /** Whether the service gave the same answer as before, so that its records are left out. */
  repeats?(bytes: Uint8Array): boolean;
}

type Style<T extends string> = Extract<XmlPagination, { readonly type: T }>;

export function createPager(style: XmlPagination | undefined): XmlPager {
  switch (style?.type) {
    case undefined:
      return { first: {}, isNamed: false, next: () => undefined };
    case 'PageNumber':
      return pageNumberPager(style);
    case 'Offset':
      return offsetPager(style);
    case 'BodyCursor':
      return bodyCursorPager(style);
    default:
      return style satisfies never;
  }
}

function pageNumberPager(style: Style<'PageNumber'>): XmlPager {
  const { param_name: name, page_size: size, page_size_param: sizeName } = style;
  const sized: QueryPairs =
    size === undefined || sizeName === undefined ? [] : [[sizeName, String(size)]];
  const at = (page: number): PageChange => ({ query: [[name, String(page)], ...sized] });
  let page = style.start_page;
  return {
    first: at(page),
    isNamed: false,
    repeats: repeatsBefore(),
    next(_places, records) {
      if (records === 0 || (size !== undefined && records < size)) return undefined;
      page += 1;
      return at(page);
    },
  };
}

function offsetPager({
  offset_param: name,
  limit_param: limitName,
  limit,
}: Style<'Offset'>): XmlPager {
  const at = (offset: number): PageChange => ({
    query: [
      [name, String(offset)],
      [limitName, String(limit)],
    ],
  });
  let offset = 0;
  return {
    first: at(0),
    isNamed: false,
    repeats: repeatsBefore(),
    next(_places, records) {
      if (records < limit) return undefined;
      offset += records;
      return at(offset);
    },
  };
}

function bodyCursorPager({
  next_token_path: path,
  next_body: body,
}: Style<'BodyCursor'>): XmlPager {
  const seen = new LastFew();
  return {
    first: {},
    isNamed: true,
    next(places) {
      const [token] = places.flatMap((place) => elementsBelow(place, path));
      if (typeof token !== 'string' || token === '' || !seen.add(token)) return undefined;
      return { body: body.replaceAll(`\${${NEXT_TOKEN}}`, escapeXmlText(token)) };
    },
  };
}
