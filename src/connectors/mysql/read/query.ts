/** Makes the statement for the server from the configured query. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import type { SourceContext } from '../../../kit/context.ts';
import type { StoredBookmark } from '../../../kit/stored-bookmark.ts';
import { ROW_TOKEN, rowValue } from '../../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon } from '../../_sql/sql-text.ts';
import { sqlLiteral } from './literals.ts';

const BOOKMARK = '@bookmark';
/** `?`, `@bookmark` (no user or system variable is called so) and `${row.field}`. */
const IN_CODE = new RegExp(`\\?|(?<![@\\w])@bookmark(?!\\w)|${ROW_TOKEN}`, 'g');
const ROW_FIELD = new RegExp(ROW_TOKEN, 'g');

/** Errors in a query that are found without running it. */
export function queryFaults(
  query: string,
  { incremental, params }: { readonly incremental: boolean; readonly params: number },
): QueryFault[] {
  const faults: QueryFault[] = [];
  let marks = 0;
  let before = '';
  for (const { kind, text } of sqlPieces(query, 'mysql')) {
    if (kind === 'code') {
      for (const found of text.matchAll(IN_CODE)) {
        if (found[0] === '?') marks += 1;
        if (found[0] === BOOKMARK)
          faults.push(...bookmarkFaults(before + text.slice(0, found.index), incremental));
      }
    } else if (!isWholeToken(kind, text)) faults.push(...misplaced(text));
    before += text;
  }
  if (marks !== params)
    faults.push({
      message: `the query has ${marks} placeholder${marks === 1 ? '' : 's'} \`?\`, and \`params\` has ${params} value${params === 1 ? '' : 's'}`,
      hint: 'give one value for each `?`, in their order',
    });
  return faults;
}

function misplaced(text: string): QueryFault[] {
  return [...text.matchAll(ROW_FIELD)].map(([token]) => ({
    message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
    hint: 'use it alone or as a whole quoted text, and join texts with CONCAT',
  }));
}

function isWholeToken(kind: string, text: string): boolean {
  return kind === 'literal' && new RegExp(`^(?:${ROW_TOKEN})$`).test(text.slice(1, -1));
}

export interface QueryInput {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly records: SourceContext['records'];
  readonly incremental?:
    | {
        readonly column: string;
        readonly initial: JsonValue;
        readonly bookmark: StoredBookmark | undefined;
      }
    | undefined;
}

/** The statement with a literal in the place of each token. */
export function compileQuery({ query, params, records, incremental }: QueryInput): string {
  const start = incremental?.bookmark?.value ?? incremental?.initial ?? null;
  let next = 0;
  const valueOf = (token: string): JsonValue => {
    if (token === BOOKMARK) return start;
    if (token === '?') return params[next++] ?? null;
    return rowValue(token.slice(2, -1), records === undefined ? {} : { records });
  };
  const sql = sqlPieces(query, 'mysql')
    .map(({ kind, text }) => {
      if (kind === 'code') return text.replaceAll(IN_CODE, (token) => sqlLiteral(valueOf(token)));
      return isWholeToken(kind, text) ? sqlLiteral(valueOf(text.slice(1, -1))) : text;
    })
    .join('');
  const whole = withoutSemicolon(sql, 'mysql');
  if (incremental === undefined) return whole;
  const column = `svc_source.${backticked(incremental.column)}`;
  const { bookmark } = incremental;
  // As in the source of PostgreSQL: a bookmark that knows its rows includes its value.
  const isIncluded = bookmark === undefined || bookmark.seen !== undefined;
  return `SELECT * FROM (\n${whole}\n) AS svc_source WHERE ${column} ${isIncluded ? '>=' : '>'} ${sqlLiteral(start)} ORDER BY ${column}`;
}

export function refuseNoRows(columns: number): void {
  if (columns > 0) return;
  throw new ConnectorError('data', 'the query gives no rows: it has to be one that reads', {
    hint: 'use a SELECT; change data outside of the pipeline',
  });
}
