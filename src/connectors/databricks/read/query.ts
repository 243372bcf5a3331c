/**
 * Makes the statement for the server from the configured one. Values are bound as named parameters,
 * and never are text.
 */
import type { SourceContext } from '../../../kit/context.ts';
import type { StoredBookmark } from '../../../kit/stored-bookmark.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { parentField, ROW_TOKEN, rowValue } from '../../_sql/parent-value.ts';
import { bookmarkFaults, type QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon } from '../../_sql/sql-text.ts';
import { backticked } from '../names.ts';

const BOOKMARK = '${bookmark}';
/** Parameters of our own start with this. */
const OWN = 'svc_';
const FIELD = String.raw`\{[A-Za-z_][\w-]*(?:\.[\w-]+)*\}`;
/** `${bookmark}`, `${row.field}` and `{field}`. */
const IN_CODE = new RegExp(String.raw`${ROW_TOKEN}|(?<!\$)${FIELD}`, 'g');
const WHOLE = new RegExp(`^(?:${ROW_TOKEN}|${FIELD})$`);
const ROW_FIELD = new RegExp(ROW_TOKEN, 'g');
/** `:name`, and not the `::` of a cast or the path of a document. */
const MARKER = /(?<![\w:\])]):([A-Za-z_]\w*)/g;
const WRITING = 'spark';

/** A value of a statement, as the server takes it. */
export interface Parameter {
  readonly name: string;
  readonly value: string | null;
  readonly type: string;
}

/** One as it is configured. */
interface QueryParameter {
  readonly name: string;
  readonly value: JsonValue;
  readonly type?: string | undefined;
}

/** Errors in a statement that are found without running it. `names` are those of its parameters. */
export function queryFaults(
  sql: string,
  { names, isIncremental }: { readonly names: readonly string[]; readonly isIncremental: boolean },
): QueryFault[] {
  const faults: QueryFault[] = [];
  let code = '';
  // Quoted names and texts as a letter: a path of a document may stand behind them.
  let bare = '';
  for (const { kind, text } of sqlPieces(withoutSemicolon(sql, WRITING), WRITING)) {
    if (kind === 'code') {
      for (const found of text.matchAll(IN_CODE))
        if (found[0] === BOOKMARK)
          faults.push(
            ...bookmarkFaults(code + text.slice(0, found.index), isIncremental, BOOKMARK),
          );
      if (text.includes(';')) faults.push(SEVERAL);
    } else if (isToken(kind, text)) {
      if (text.slice(1, -1) === BOOKMARK)
        faults.push(...bookmarkFaults(code, isIncremental, BOOKMARK));
    } else faults.push(...misplaced(text));
    code += kind === 'comment' ? ' ' : text;
    bare += kind === 'code' ? text : kind === 'comment' ? ' ' : 'x';
  }
  const markers = [...bare.matchAll(MARKER)].map(([, name = '']) => name);
  return [...faults, ...parameterFaults(markers, names)];
}

const SEVERAL: QueryFault = {
  message: 'the query is more than one statement',
  hint: 'write one SELECT; several sources read several results',
};

function parameterFaults(markers: readonly string[], names: readonly string[]): QueryFault[] {
  const faults: QueryFault[] = [];
  const missing = markers.find((name) => !names.includes(name));
  if (missing !== undefined)
    faults.push({
      message: `the query uses :${missing}, and \`parameters\` has no value of this name`,
      hint: 'add it to `parameters`',
    });
  const own = names.find((name) => name.toLowerCase().startsWith(OWN));
  if (own !== undefined)
    faults.push({
      message: `the name of the parameter :${own} starts with \`${OWN}\`, as our own do`,
      hint: 'give it another name',
    });
  return faults;
}

function misplaced(text: string): QueryFault[] {
  return [...text.matchAll(ROW_FIELD)].map(([token]) => ({
    message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
    hint: 'use it alone or as a whole quoted text, and join texts with ||',
  }));
}

function isToken(kind: string, text: string): boolean {
  return kind === 'literal' && WHOLE.test(text.slice(1, -1));
}

export interface Query {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

export interface QueryInput {
  readonly sql: string;
  readonly parameters: readonly QueryParameter[];
  readonly context: Pick<SourceContext, 'parent' | 'records'>;
  /** What `${bookmark}` stands for. */
  readonly bookmark?: Parameter | undefined;
}

export const BOOKMARK_NAME = `${OWN}bookmark`;

export function compileQuery({ sql, parameters, context, bookmark }: QueryInput): Query {
  const bound = new Map<string, Parameter>();
  for (const { name, value, type } of parameters) bound.set(name, parameterOf(name, value, type));
  if (bookmark !== undefined) bound.set(BOOKMARK_NAME, bookmark);
  const names = new Map<string, string>([[BOOKMARK, BOOKMARK_NAME]]);
  const bind = (token: string): string => {
    const known = names.get(token);
    if (known !== undefined) return `:${known}`;
    const value = token.startsWith('$')
      ? rowValue(token.slice(2, -1), context)
      : parentField(token, context);
    const name = `${OWN}value_${names.size}`;
    names.set(token, name);
    bound.set(name, parameterOf(name, value, undefined));
    return `:${name}`;
  };
  const text = sqlPieces(withoutSemicolon(sql, WRITING), WRITING)
    .map(({ kind, text: piece }) => {
      if (kind === 'code') return piece.replaceAll(IN_CODE, (token) => bind(token));
      return isToken(kind, piece) ? bind(piece.slice(1, -1)) : piece;
    })
    .join('');
  return { text, parameters: [...bound.values()] };
}

const INT64_MAX = 2n ** 63n - 1n;
const MOST_DIGITS = 38;

/** Of the type that the value has, where none is given. */
export function parameterOf(name: string, written: JsonValue, type: string | undefined): Parameter {
  const value = isLiteral(written) ? literalValue(written) : written;
  if (value === null) return { name, value, type: type ?? 'STRING' };
  if (typeof value === 'object')
    throw new ConnectorError('data', `the value of :${name} is a list or an object`, {
      hint: 'a parameter is a single value',
    });
  return { name, value: textOf(value), type: type ?? typeFor(value) };
}

function textOf(value: string | number | bigint | boolean): string {
  return typeof value === 'number' && Number.isInteger(value)
    ? BigInt(value).toString()
    : jsonText(value);
}

function typeFor(value: string | number | bigint | boolean): string {
  switch (typeof value) {
    case 'boolean':
      return 'BOOLEAN';
    case 'number':
      return Number.isSafeInteger(value) ? 'BIGINT' : 'DOUBLE';
    case 'bigint':
      return value <= INT64_MAX && value >= -INT64_MAX - 1n
        ? 'BIGINT'
        : `DECIMAL(${MOST_DIGITS},0)`;
    default:
      return 'STRING';
  }
}

export const SOURCE = 'svc_source';

/** Only rows from the start on, in the order of the column; `list` is what is selected. */
export function fromStart(
  text: string,
  {
    column,
    list,
    bookmark,
  }: {
    readonly column: string;
    readonly list: string;
    readonly bookmark: StoredBookmark | undefined;
  },
): string {
  const name = `${SOURCE}.${backticked(column)}`;
  // The first run includes its start, and a bookmark that knows its rows includes its value.
  const isIncluded = bookmark === undefined || bookmark.seen !== undefined;
  return `SELECT ${list} FROM (\n${text}\n) AS ${SOURCE} WHERE ${name} ${isIncluded ? '>=' : '>'} :${BOOKMARK_NAME} ORDER BY ${name}`;
}

export function selected(text: string, list: string): string {
  return `SELECT ${list} FROM (\n${text}\n) AS ${SOURCE}`;
}

/** Tells the columns, and no rows. */
export function withoutRows(text: string): string {
  return `${selected(text, '*')} LIMIT 0`;
}

/** Whether it can stand inside another statement. */
export function isSelect(text: string): boolean {
  const code = sqlPieces(text, WRITING)
    .map(({ kind, text: piece }) => (kind === 'comment' ? ' ' : piece))
    .join('');
  return /^[\s(]*(?:SELECT|WITH|VALUES|FROM|TABLE)\b/i.test(code);
}
