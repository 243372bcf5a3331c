/** Makes the statement for Spanner from the configured query. Values are bound, and never text. */
import type { SourceContext } from '../../../kit/context.ts';
import type { StoredBookmark } from '../../../kit/stored-bookmark.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { backticked } from '../../_google/backticked.ts';
import { INT64_MAX, wholeText } from '../../_google/column-texts.ts';
import { dateText } from '../../_google/times.ts';
import { namedQuery, outerWords, type NamedQuery } from '../../_sql/named-query.ts';
import { BINDABLE, parentField, rowValue } from '../../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon, type SqlPiece } from '../../_sql/sql-text.ts';
import { CODES, type ValueType } from '../api.ts';
import type { Cell } from '../cells.ts';
import type { Query } from '../statement.ts';
import { timestampText } from '../types/write-values.ts';

const PARAMETER = /(?<![@\w])@([A-Za-z_]\w*)/g;
const BOOKMARK = 'bookmark';
/** A call that makes a time of the bookmark, or a parameter. */
const CALL_OR_PARAMETER =
  /(?<![\w.@])(TIMESTAMP|DATE)\s*\(\s*@bookmark\s*\)|(?<![@\w])@([A-Za-z_]\w*)/gi;
/** Functions that make a time of a text, so that a parameter in them has to be one. */
const OF_TEXT = /\b(?:TIMESTAMP|DATE|PARSE_TIMESTAMP|PARSE_DATE)\s*\([^()]*$/i;
/** The names of the parameters that are added begin so. */
const OWN = 'svc_';

export interface Fault extends QueryFault {
  readonly path?: string[];
}

interface Shape {
  readonly params: readonly string[];
  readonly isIncremental: boolean;
}

/** Errors in a query that are found without running it. */
export function queryFaults(query: string, { params, isIncremental }: Shape): Fault[] {
  const faults: Fault[] = [];
  const used = new Set<string>();
  let code = '';
  for (const { kind, text } of pieces(query)) {
    if (kind === 'code')
      for (const found of text.matchAll(PARAMETER)) {
        const name = (found[1] ?? '').toLowerCase();
        used.add(name);
        if (name === BOOKMARK && !params.some(isBookmark))
          faults.push(
            ...bookmarkFaults(code + beforeCall(text.slice(0, found.index)), isIncremental),
          );
      }
    else if (!isWholeToken(kind, text)) faults.push(...misplaced(text));
    code += kind === 'comment' ? ' ' : text;
  }
  return [...faults, ...paramFaults(used, params, isIncremental)];
}

/** What stands before a function around the parameter. */
function beforeCall(text: string): string {
  return text.replace(/\b(?:TIMESTAMP|DATE|CAST)\s*\(\s*$/i, '');
}

const isBookmark = (name: string): boolean => name.toLowerCase() === BOOKMARK;

function paramFaults(
  used: ReadonlySet<string>,
  params: readonly string[],
  isIncremental: boolean,
): Fault[] {
  const faults: Fault[] = [];
  const known = new Set(params.map((name) => name.toLowerCase()));
  for (const name of params) {
    const path = ['params', name];
    if (isIncremental && isBookmark(name))
      faults.push({
        message: '`@bookmark` is the last value of the incremental column',
        hint: 'give the parameter another name',
        path,
      });
    else if (name.toLowerCase().startsWith(OWN))
      faults.push({
        message: `names that begin with \`${OWN}\` are taken`,
        hint: 'give the parameter another name',
        path,
      });
    else if (!used.has(name.toLowerCase()))
      faults.push({
        message: `the query does not use @${name}, for which \`params\` has a value`,
        hint: 'remove the value, or write the name into the query',
        path,
      });
  }
  if (known.size < params.length)
    faults.push({
      message: '`params` has two names that differ only in case, and Spanner takes them for one',
      hint: 'remove one of them',
      path: ['params'],
    });
  for (const name of used)
    if (!known.has(name) && name !== BOOKMARK)
      faults.push({
        message: `the query uses @${name}, for which \`params\` has no value`,
        hint: `write it, e.g. \`params: {${name}: …}\``,
      });
  return faults;
}

function misplaced(text: string): Fault[] {
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
  return sqlPieces(query, 'bigquery');
}

export interface Start {
  readonly column: string;
  readonly initial: JsonValue;
  readonly bookmark: StoredBookmark | undefined;
  /** Of the column; before it is known nothing is compared with it. */
  readonly type?: ValueType | undefined;
}

interface QueryInput {
  readonly query: string;
  readonly params: Readonly<Record<string, JsonValue>>;
  readonly context: Pick<SourceContext, 'parent' | 'records'>;
  readonly start?: Start | undefined;
}

interface Bound {
  readonly params: Record<string, Cell>;
  readonly types: Record<string, ValueType>;
}

/** The query with a parameter in the place of each token. */
export function compileQuery({ query, params, context, start }: QueryInput): Query {
  const bound: Bound = { params: {}, types: {} };
  for (const [name, value] of Object.entries(params)) bind(bound, name, parameterOf(value));
  const bindToken = (token: string): string => {
    const name = `${OWN}${Object.keys(bound.params).length + 1}`;
    const value = token.startsWith('$')
      ? rowValue(token.slice(2, -1), context)
      : parentField(token, context);
    bind(bound, name, parameterOf(value));
    return `@${name}`;
  };
  let code = '';
  const sql = pieces(query)
    .map(({ kind, text }) => {
      const before = code;
      code += kind === 'comment' ? ' ' : text;
      if (isWholeToken(kind, text)) return bindToken(text.slice(1, -1));
      if (kind !== 'code') return text;
      // First the bookmark, whose place is looked at in the text as it is written.
      const marked =
        start === undefined
          ? text
          : text.replaceAll(CALL_OR_PARAMETER, (token: string, ...found: unknown[]) => {
              const [call, name, at] = found as [string | undefined, string | undefined, number];
              // As a value of its type it keeps digits that the function does not read.
              if (isCallOf(start.type, call)) return startSql(bound, start, '');
              if (call !== undefined) return `${call}(${startSql(bound, start, `${call}(`)})`;
              return isBookmark(name ?? '')
                ? startSql(bound, start, before + text.slice(0, at))
                : token;
            });
      return marked.replaceAll(BINDABLE, (token: string) => bindToken(token));
    })
    .join('');
  const whole = withoutSemicolon(sql, 'bigquery');
  if (start?.type === undefined) return { sql: whole, ...bound };
  const { source, name } = within(whole, 'svc_source');
  const column = `${name}.${backticked(start.column)}`;
  // A bookmark that knows its rows includes its value, as the initial value is included.
  const isIncluded = start.bookmark === undefined || start.bookmark.seen !== undefined;
  const condition = `${column} ${isIncluded ? '>=' : '>'} ${startSql(bound, start, '')}`;
  return { sql: `${source} SELECT * FROM ${name} WHERE ${condition} ORDER BY ${column}`, ...bound };
}

const START = `${OWN}start`;

interface Parameter {
  readonly cell: Cell;
  /** Absent where the statement tells it. */
  readonly type?: ValueType;
}

function bind({ params, types }: Bound, name: string, { cell, type }: Parameter): void {
  params[name] = cell;
  if (type !== undefined) types[name] = type;
}

function isCallOf(type: ValueType | undefined, call: string | undefined): boolean {
  return type !== undefined && CODES[call?.toUpperCase() as keyof typeof CODES] === type.code;
}

function startSql(bound: Bound, start: Start, before: string): string {
  const isText = OF_TEXT.test(before);
  const name = isText ? `${START}_text` : START;
  const type = isText ? { code: CODES.STRING } : start.type;
  const cell = start.type === undefined ? null : startCell(start);
  bind(bound, name, { cell, ...(type === undefined ? {} : { type }) });
  return `@${name}`;
}

const TEXTS: Readonly<Record<number, (value: JsonValue) => string | undefined>> = {
  [CODES.INT64]: wholeText,
  [CODES.TIMESTAMP]: timestampText,
  [CODES.DATE]: dateText,
};

/** Whether rows can be read in the order of such a column, and their values told from each other. */
export function canBeBookmark({ code }: ValueType): boolean {
  return code in TEXTS;
}

function startCell({ column, initial, bookmark, type }: Start): Cell {
  const value = bookmark?.value ?? initial;
  const text = TEXTS[type?.code ?? 0]?.(isLiteral(value) ? literalValue(value) : value);
  if (text !== undefined) return text;
  throw new ConnectorError(
    'data',
    `the column \`${column}\` cannot start at ${stringifyJson(value)}`,
    {
      hint: 'write `initial_value` as a value of the column, e.g. `2024-05-06T07:08:09Z` for a time',
    },
  );
}

/** The statement without its rows, which tells the columns. */
export function withoutRows({ sql, ...bound }: Query): Query {
  const { source, name } = within(sql, 'svc_described');
  return { sql: `${source} SELECT * FROM ${name} LIMIT 0`, ...bound };
}

/** `@{…}` before a statement concerns all of it. */
const HINT = /^\s*@\{[^{}]*\}/;

/** The query under a name, for a statement that reads from it. */
export function within(sql: string, wanted: string): NamedQuery {
  const [hint = ''] = HINT.exec(sql) ?? [];
  const query = sql.slice(hint.length);
  const { source, name } = namedQuery(query, wanted, outerWords(query, 'bigquery'));
  return { source: `${hint}${source}`, name };
}

/** A text has the type that the statement wants of it: a time is written as one. */
function parameterOf(written: JsonValue): Parameter {
  const value = isLiteral(written) ? literalValue(written) : written;
  switch (typeof value) {
    case 'boolean':
      return { cell: value, type: { code: CODES.BOOL } };
    case 'bigint': {
      const isInt64 = value <= INT64_MAX && value >= -INT64_MAX - 1n;
      return { cell: String(value), type: { code: isInt64 ? CODES.INT64 : CODES.NUMERIC } };
    }
    case 'number':
      return Number.isSafeInteger(value)
        ? { cell: String(value), type: { code: CODES.INT64 } }
        : { cell: value, type: { code: CODES.FLOAT64 } };
    default:
      return { cell: value === null ? null : jsonText(value) };
  }
}
