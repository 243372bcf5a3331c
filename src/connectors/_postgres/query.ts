/**
 * Makes the statement for the server from the configured query: tokens become parameters, and
 * incremental reading adds a condition.
 */
import { jsonText, type JsonValue } from '../../lib/text/json.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { ReadRequest } from '../../kit/source.ts';
import { readBookmark, type StoredBookmark } from '../../kit/stored-bookmark.ts';
import { ROW_TOKEN, rowValue } from '../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../_sql/query-fault.ts';
import { bindTokens, withoutSemicolon, type BoundSql } from '../_sql/sql-text.ts';

const TOKEN = new RegExp(ROW_TOKEN, 'g');
const BOOKMARK = 'bookmark';

/** Errors in a query that are found without running it. */
export function queryFaults(query: string, incremental: boolean): QueryFault[] {
  const bound = bindTokens(query, TOKEN, (index) => `$${index}`);
  const faults = bound.misplaced.map((token) => ({
    message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
    hint: 'use it alone or as a whole quoted text, and join texts with ||',
  }));
  for (const { before } of bound.tokens.filter((token) => token.name === BOOKMARK))
    faults.push(...bookmarkFaults(before, incremental, `\${${BOOKMARK}}`));
  return faults;
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly (string | null)[];
}

interface QueryConfig {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly replication:
    | { readonly type: 'full' }
    | { readonly type: 'incremental'; readonly column: string; readonly initial_value: JsonValue };
}

/** What is asked for one read. */
export function statementOf(
  config: QueryConfig,
  context: Pick<SourceContext, 'records'>,
  request: Pick<ReadRequest, 'bookmark'>,
): Statement {
  const { query, params, replication } = config;
  const base = { query, params, records: context.records };
  if (replication.type === 'full') return compileQuery(base);
  return compileQuery({
    ...base,
    incremental: {
      column: replication.column,
      initial: replication.initial_value,
      bookmark: readBookmark(request.bookmark),
    },
  });
}

export interface QueryInput {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly records: SourceContext['records'];
  readonly incremental?: {
    readonly column: string;
    readonly initial: JsonValue;
    readonly bookmark: StoredBookmark | undefined;
  };
}

export function compileQuery({ query, params, records, incremental }: QueryInput): Statement {
  const bound = bindTokens(query, TOKEN, (index) => `$${params.length + index + 1}`);
  const values = [
    ...params,
    ...tokenValues(bound, records, incremental?.bookmark?.value ?? incremental?.initial),
  ].map(parameter);
  const sql = withoutSemicolon(bound.sql);
  if (incremental === undefined) return { sql, values };
  const column = `svc_source.${quoteName(incremental.column)}`;
  const { bookmark, initial } = incremental;
  // The first run includes its start. A bookmark that knows which rows of its value were read
  // includes the value, so that later ones are found; otherwise all of them count as read.
  const isIncluded = bookmark === undefined || bookmark.seen !== undefined;
  const condition = `${column} ${isIncluded ? '>=' : '>'} $${values.length + 1}`;
  return {
    sql: `SELECT * FROM (\n${sql}\n) AS svc_source WHERE ${condition} ORDER BY ${column}`,
    values: [...values, parameter(bookmark?.value ?? initial)],
  };
}

function tokenValues(
  bound: BoundSql,
  records: SourceContext['records'],
  bookmark: JsonValue | undefined,
): JsonValue[] {
  return bound.tokens.map(({ name }) =>
    name === BOOKMARK
      ? (bookmark ?? null)
      : rowValue(name, records === undefined ? {} : { records }),
  );
}

/**
 * Values are sent as text and the server converts them to the type of their place, so integers stay
 * exact.
 */
function parameter(value: JsonValue): string | null {
  return value === null ? null : jsonText(value);
}
