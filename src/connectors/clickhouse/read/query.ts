/** Makes the statement for the server from the configured query. */
import type { SourceContext } from '../../../kit/context.ts';
import type { StoredBookmark } from '../../../kit/stored-bookmark.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { parentField, ROW_TOKEN, rowValue } from '../../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon } from '../../_sql/sql-text.ts';
import { backticked } from '../types/quote.ts';
import { literal } from './literals.ts';

const BOOKMARK = '@bookmark';
const FIELD = String.raw`\{[A-Za-z_][\w-]*(?:\.[\w-]+)*\}`;
/** `@bookmark`, `${row.field}` and `{field}`; a parameter of the server is `{name:Type}`. */
const IN_CODE = new RegExp(`(?<![@\\w])@bookmark(?!\\w)|${ROW_TOKEN}|(?<!\\$)${FIELD}`, 'g');
const WHOLE = new RegExp(`^(?:${ROW_TOKEN}|${FIELD})$`);
const ROW_FIELD = new RegExp(ROW_TOKEN, 'g');
/** The pieces of a statement are told apart as in MySQL: backticks, backslashes, `#`. */
const WRITING = 'mysql';

/** Errors in a query that are found without running it. */
export function queryFaults(query: string, isIncremental: boolean): QueryFault[] {
  const faults: QueryFault[] = [];
  let code = '';
  for (const { kind, text } of sqlPieces(query, WRITING)) {
    if (kind === 'code') {
      for (const found of text.matchAll(IN_CODE))
        if (found[0] === BOOKMARK)
          faults.push(...bookmarkFaults(code + text.slice(0, found.index), isIncremental));
    } else if (!isToken(kind, text)) faults.push(...misplaced(text));
    code += kind === 'comment' ? ' ' : text;
  }
  if (/\bFORMAT\s+\w+\s*;?\s*$/i.test(code))
    faults.push({
      message: 'the query has a FORMAT clause, and its format is not a matter of the query',
      hint: 'remove the clause',
    });
  return faults;
}

function misplaced(text: string): QueryFault[] {
  return [...text.matchAll(ROW_FIELD)].map(([token]) => ({
    message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
    hint: 'use it alone or as a whole quoted text, and join texts with concat',
  }));
}

function isToken(kind: string, text: string): boolean {
  return kind === 'literal' && WHOLE.test(text.slice(1, -1));
}

export interface Start {
  readonly column: string;
  readonly initial: JsonValue;
  readonly bookmark: StoredBookmark | undefined;
  /** A literal that is compared with the column; plain literals before its type is known. */
  readonly literal?: ((value: JsonValue) => string) | undefined;
}

export interface QueryInput {
  readonly query: string;
  readonly context: Pick<SourceContext, 'parent' | 'records'>;
  readonly start?: Start | undefined;
}

/** The statement with a literal in the place of each token. */
export function compileQuery({ query, context, start }: QueryInput): string {
  const from = start === undefined ? 'NULL' : startLiteral(start);
  const valueOf = (token: string): string => {
    if (token === BOOKMARK) return from;
    if (token.startsWith('$')) return literal(rowValue(token.slice(2, -1), context));
    return literal(parentField(token, context));
  };
  const sql = sqlPieces(query, WRITING)
    .map(({ kind, text }) => {
      if (kind === 'code') return text.replaceAll(IN_CODE, valueOf);
      return isToken(kind, text) ? valueOf(text.slice(1, -1)) : text;
    })
    .join('');
  return withoutSemicolon(sql, WRITING);
}

function startLiteral({ initial, bookmark, literal: spell = literal }: Start): string {
  return spell(bookmark?.value ?? initial);
}

/** Only rows from the start on, in the order of the column. */
export function fromStart(sql: string, start: Start): string {
  const column = backticked(start.column);
  // A bookmark that knows its rows includes its value, as the initial value is included.
  const isIncluded = start.bookmark === undefined || start.bookmark.seen !== undefined;
  return `SELECT * FROM (\n${sql}\n) WHERE ${column} ${isIncluded ? '>=' : '>'} ${startLiteral(start)} ORDER BY ${column}`;
}

/** Tells the columns, and no rows. */
export function withoutRows(sql: string): string {
  return `SELECT * FROM (\n${sql}\n) LIMIT 0`;
}
