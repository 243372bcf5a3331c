/** Makes the statement for the server from the configured query. */
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { SourceContext } from '../../../kit/context.ts';
import type { StoredBookmark } from '../../../kit/stored-bookmark.ts';
import { namedQuery, outerWords, type NamedQuery } from '../../_sql/named-query.ts';
import { BINDABLE, parentField, rowValue } from '../../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon, type SqlPiece } from '../../_sql/sql-text.ts';
import type { BindValue } from '../connection.ts';
import { encoderFor } from '../encode.ts';

const BOOKMARK = /(?<![:\w]):bookmark(?!\w)/gi;
const PARAM = /(?<![:\w]):(\d+)(?!\w)/g;

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
        faults.push(
          ...bookmarkFaults(code + text.slice(0, found.index), isIncremental, ':bookmark'),
        );
    } else if (!isWholeToken(kind, text)) faults.push(...misplaced(text));
    code += kind === 'comment' ? ' ' : text;
  }
  const unknown = [...used].find((place) => place === 0 || place > params);
  if (unknown !== undefined)
    faults.push({
      message: `the query uses :${unknown}, and \`params\` has ${params} value${params === 1 ? '' : 's'}`,
      hint: 'the first value of `params` is `:1`',
    });
  const unused = Array.from({ length: params }, (_, at) => at + 1).find((at) => !used.has(at));
  if (unused !== undefined)
    faults.push({
      message: `the query does not use :${unused}, for which \`params\` has a value`,
      hint: 'remove the value, or write the name into the query',
    });
  return faults;
}

function misplaced(text: string): QueryFault[] {
  return [...text.matchAll(BINDABLE)]
    .filter(([token]) => token.startsWith('$'))
    .map(([token]) => ({
      message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
      hint: 'use it alone or as a whole quoted text, and join texts with ||',
    }));
}

function isWholeToken(kind: string, text: string): boolean {
  return kind === 'literal' && new RegExp(`^(?:${BINDABLE.source})$`).test(text.slice(1, -1));
}

function pieces(query: string): SqlPiece[] {
  return sqlPieces(query, 'oracle');
}

export interface Statement {
  readonly sql: string;
  readonly values: Readonly<Record<string, BindValue>>;
}

export interface Start {
  /** As the result has it. */
  readonly column: string;
  /** Its type, as it is written in statements. */
  readonly type: string;
  readonly initial: JsonValue;
  readonly bookmark: StoredBookmark | undefined;
}

interface QueryInput {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly context: Pick<SourceContext, 'parent' | 'records'>;
  /** `unknown`: the query is asked for its columns only. */
  readonly start?: Start | 'unknown' | undefined;
}

const START = 'svc_start';

/** The query with a bind variable in the place of each token. */
export function compileQuery({ query, params, context, start }: QueryInput): Statement {
  const values: Record<string, BindValue> = {};
  for (const [at, value] of params.entries()) values[String(at + 1)] = bindValue(value);
  const bind = (token: string): string => {
    const name = `svc_${Object.keys(values).length + 1}`;
    values[name] = bindValue(
      token.startsWith('$') ? rowValue(token.slice(2, -1), context) : parentField(token, context),
    );
    return `:${name}`;
  };
  const from = start === undefined || start === 'unknown' ? undefined : startOf(start);
  const sql = pieces(query)
    .map(({ kind, text }) => {
      if (isWholeToken(kind, text)) return bind(text.slice(1, -1));
      if (kind !== 'code') return text;
      return text
        .replaceAll(BINDABLE, (token: string) => bind(token))
        .replaceAll(BOOKMARK, () => from?.sql ?? 'NULL');
    })
    .join('');
  const whole = withoutSemicolon(sql, 'oracle');
  if (start === undefined || start === 'unknown' || from === undefined)
    return { sql: whole, values };
  const { source, name } = within(whole, 'svc_source');
  const column = `${name}.${quoteName(start.column)}`;
  // A bookmark that knows its rows includes its value, as the initial value is included.
  const isIncluded = start.bookmark === undefined || start.bookmark.seen !== undefined;
  const condition = `${column} ${isIncluded ? '>=' : '>'} ${from.sql}`;
  return {
    sql: `${source} SELECT * FROM ${name} WHERE ${condition} ORDER BY ${column}`,
    values: { ...values, [START]: from.value },
  };
}

/** As a text, which the server converts to the type of the column, no digits are lost. */
function startOf({ column, type, initial, bookmark }: Start): {
  readonly sql: string;
  readonly value: BindValue;
} {
  const { encode, sql } = encoderFor({ name: column, type }, { isKey: true });
  return { sql: sql(`:${START}`), value: encode(bookmark?.value ?? initial) };
}

/** The query under a name, for a statement that reads from it. */
export function within(sql: string, wanted: string): NamedQuery {
  return namedQuery(sql, wanted, outerWords(sql, 'oracle'));
}

function bindValue(written: JsonValue): BindValue {
  const value = isLiteral(written) ? literalValue(written) : written;
  switch (typeof value) {
    case 'boolean':
    case 'number':
    case 'bigint':
      return value;
    default:
      return value === null ? null : jsonText(value);
  }
}
