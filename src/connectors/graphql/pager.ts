/** Walks the pages of a query. */
import { jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Log } from '../../lib/log.ts';
import { compilePath } from '../_http/json-path.ts';
import { LastFew } from '../_http/repeated-pages.ts';
import type { GraphqlConfig, GraphqlPagination } from './config.ts';

export interface PageRequest {
  readonly query: string;
  readonly variables: JsonObject;
}

export interface Pager {
  readonly first: PageRequest;
  /** The request after this answer with so many records; undefined when it was the last. */
  next(body: JsonValue, records: number): PageRequest | undefined;
  /** Whether this answer says if there is another page; absent where none does. */
  isTold?(body: JsonValue): boolean;
}

type Style<T extends string> = Extract<GraphqlPagination, { readonly type: T }>;

export function createPager(config: GraphqlConfig, variables: JsonObject, log: Log): Pager {
  const { query, pagination } = config;
  const first = { query, variables };
  if (pagination === undefined) return { first, next: () => undefined };
  return pagination.type === 'Offset'
    ? offsetPager(first, pagination)
    : cursorPager(sized(first, pagination, config.batch_size), pagination, log);
}

function sized(first: PageRequest, style: Style<'Cursor'>, size: number): PageRequest {
  if (size === 0) return first;
  return { ...first, variables: { ...first.variables, [style.page_size_variable]: size } };
}

function cursorPager(first: PageRequest, style: Style<'Cursor'>, log: Log): Pager {
  const [readNext, readCursor] = [
    compilePath(style.has_next_page_path),
    compilePath(style.cursor_path),
  ];
  const seen = new LastFew();
  const { [style.cursor_variable]: start } = first.variables;
  if (start !== undefined) seen.add(jsonText(start));
  let isWarned = false;
  return {
    first,
    isTold: (body) => typeof readNext(body)[0] === 'boolean',
    next(body) {
      const [hasNext] = readNext(body);
      if (hasNext === false) return undefined;
      if (hasNext !== true && !isWarned) {
        isWarned = true;
        log.warn('the answer does not say whether there is another page: its cursor decides', {
          has_next_page_path: style.has_next_page_path,
          found: hasNext === undefined ? 'nothing' : jsonText(hasNext),
        });
      }
      const [cursor] = readCursor(body);
      const isThere = cursor !== undefined && cursor !== null && cursor !== '';
      if (!isThere || !seen.add(jsonText(cursor))) {
        if (hasNext === true)
          log.warn('the server promises another page without a new cursor: the reading ends here', {
            cursor_path: style.cursor_path,
            found: isThere ? jsonText(cursor) : 'nothing',
          });
        return undefined;
      }
      return { ...first, variables: { ...first.variables, [style.cursor_variable]: cursor } };
    },
  };
}

function offsetPager({ query, variables }: PageRequest, style: Style<'Offset'>): Pager {
  const { offset_variable: name, page_size: size } = style;
  const placeholder = new RegExp(String.raw`\$${name}\b`, 'g');
  const at = (offset: number): PageRequest =>
    style.substitute_in_query
      ? { query: query.replaceAll(placeholder, String(offset)), variables }
      : { query, variables: { ...variables, [name]: offset } };
  let offset = 0;
  return {
    first: at(0),
    next(_body, records) {
      if (records === 0 || (style.stop_when_short && records < size)) return undefined;
      offset += records;
      return at(offset);
    },
  };
}
