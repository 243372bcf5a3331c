/** Makes the statement for the server from the configured query. */
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import type { SourceContext } from '../../../kit/context.ts';
import type { StoredBookmark } from '../../../kit/stored-bookmark.ts';
import type { Parameter } from '../../_mssql/connection.ts';
import { bracketed } from '../../_mssql/quote.ts';
import { namedQuery, outerWords, type NamedQuery, type OuterWord } from '../../_sql/named-query.ts';
import { BINDABLE, parentField, rowValue } from '../../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon, type SqlPiece } from '../../_sql/sql-text.ts';

const BOOKMARK = /(?<![@\w])@bookmark(?!\w)/gi;
const PARAM = /(?<![@\w])@p(\d+)(?!\w)/gi;

/** Errors in a query that are found without running it. */
export function queryFaults(
  query: string,
  { isIncremental, params }: { readonly isIncremental: boolean; readonly params: number },
): QueryFault[] {
  const faults: QueryFault[] = [];
  const used = new Set<number>();
  let code = '';
  for (const { kind, text } of pieces(query)) {
    if (kind === 'code') {
      for (const [, place] of text.matchAll(PARAM)) used.add(Number(place));
      for (const found of text.matchAll(BOOKMARK))
        faults.push(...bookmarkFaults(code + text.slice(0, found.index), isIncremental));
    } else if (!isWholeToken(kind, text)) faults.push(...misplaced(text));
    code += kind === 'comment' ? ' ' : text;
  }
  const unknown = [...used].find((place) => place === 0 || place > params);
  if (unknown !== undefined)
    faults.push({
      message: `the query uses @P${unknown}, and \`params\` has ${params} value${params === 1 ? '' : 's'}`,
      hint: 'the first value of `params` is `@P1`',
    });
  const unused = Array.from({ length: params }, (_, at) => at + 1).find((at) => !used.has(at));
  if (unused !== undefined)
    faults.push({
      message: `the query does not use @P${unused}, for which \`params\` has a value`,
      hint: 'remove the value, or write the name into the query',
    });
  return faults;
}

function misplaced(text: string): QueryFault[] {
  return [...text.matchAll(BINDABLE)]
    .filter(([token]) => token.startsWith('$'))
    .map(([token]) => ({
      message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
      hint: 'use it alone or as a whole quoted text, and join texts with +',
    }));
}

function isWholeToken(kind: string, text: string): boolean {
  return kind === 'literal' && new RegExp(`^(?:${BINDABLE.source})$`).test(text.slice(1, -1));
}

function pieces(query: string): SqlPiece[] {
  return sqlPieces(query, 'tsql');
}

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

export interface Start {
  readonly column: string;
  readonly initial: JsonValue;
  readonly bookmark: StoredBookmark | undefined;
  /** The type of the column in statements; before it is known nothing is compared with it. */
  readonly type?: string | undefined;
}

interface QueryInput {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly context: Pick<SourceContext, 'parent' | 'records'>;
  readonly start?: Start | undefined;
}

/** The query with a parameter in the place of each token. */
export function compileQuery({ query, params, context, start }: QueryInput): Statement {
  const parameters = params.map((value, at) => parameterOf(`P${at + 1}`, value));
  const bind = (token: string): string => {
    const name = `svc_${parameters.length + 1}`;
    const value = token.startsWith('$')
      ? rowValue(token.slice(2, -1), context)
      : parentField(token, context);
    parameters.push(parameterOf(name, value));
    return `@${name}`;
  };
  const sql = pieces(query)
    .map(({ kind, text }) => {
      if (isWholeToken(kind, text)) return bind(text.slice(1, -1));
      if (kind !== 'code') return text;
      return text
        .replaceAll(BINDABLE, (token: string) => bind(token))
        .replaceAll(BOOKMARK, () => startSql(start?.type));
    })
    .join('');
  const whole = withoutSemicolon(sql, 'tsql');
  if (start?.type === undefined) return { sql: whole, parameters };
  const first = start.bookmark?.value ?? start.initial;
  // As a text, which the server converts to the type of the column, no digits are lost.
  const bound: Parameter = { ...parameterOf(START, first), ...textOf(first) };
  const { source, name } = within(whole, 'svc_source');
  const column = `${name}.${bracketed(start.column)}`;
  // A bookmark that knows its rows includes its value, as the initial value is included.
  const isIncluded = start.bookmark === undefined || start.bookmark.seen !== undefined;
  const condition = `${column} ${isIncluded ? '>=' : '>'} ${startSql(start.type)}`;
  return {
    sql: `${source} SELECT * FROM ${name} WHERE ${condition} ORDER BY ${column}`,
    parameters: [...parameters, bound],
  };
}

const START = 'svc_start';

function startSql(type: string | undefined): string {
  return type === undefined ? 'NULL' : `CAST(@${START} AS ${type})`;
}

function textOf(value: JsonValue): Partial<Parameter> {
  if (typeof value === 'number' || value === null || typeof value === 'boolean') return {};
  return { type: 'text', value: jsonText(value) };
}

/** The statement without its rows, which tells the columns. */
export function withoutRows({ sql, parameters }: Statement): Statement {
  const { source, name } = within(sql, 'svc_described');
  return { sql: `${source} SELECT TOP (0) * FROM ${name}`, parameters };
}

/**
 * The query under a name, for a statement that reads from it. The order at its end goes, which means
 * nothing there and is refused.
 */
export function within(sql: string, wanted: string): NamedQuery {
  const words = outerWords(sql, 'tsql');
  return namedQuery(withoutOrder(sql, words), wanted, words);
}

function withoutOrder(sql: string, words: readonly OuterWord[]): string {
  const last = words.findLastIndex(
    ({ word }, at) => word === 'ORDER' && words[at + 1]?.word === 'BY',
  );
  if (last === -1) return sql;
  const select = words.findLastIndex(({ word }, at) => word === 'SELECT' && at < last);
  const after = words.slice(last).some(({ word }) => word === 'OFFSET' || word === 'FOR');
  const isTop = words.slice(select, last).some(({ word }) => word === 'TOP');
  if (after || isTop) return sql;
  return sql.slice(0, words[last]?.at).trimEnd();
}

const LARGEST = 9_223_372_036_854_775_807n;

/** A value as a parameter whose type the server can compare with those of columns. */
export function parameterOf(name: string, written: JsonValue): Parameter {
  const value = isLiteral(written) ? literalValue(written) : written;
  switch (typeof value) {
    case 'boolean':
      return { name, type: 'truth', value };
    case 'bigint':
      return value <= LARGEST && value >= -LARGEST - 1n
        ? { name, type: 'whole', value: String(value) }
        : { name, type: 'text', value: String(value) };
    case 'number':
      return Number.isSafeInteger(value)
        ? { name, type: 'whole', value: String(value) }
        : { name, type: 'float', value };
    default:
      return { name, type: 'text', value: value === null ? null : jsonText(value) };
  }
}
