/**
 * Recognises queries that only select columns and rows of one table: their result can be read in
 * ranges of row ids.
 */
import { quoteName } from '../../lib/sql/sql-name.ts';

export interface PlainQuery {
  /** Between SELECT and FROM. */
  readonly list: string;
  readonly table: string;
  /** What the query calls the table. */
  readonly name: string;
  /** Behind WHERE. */
  readonly condition: string | undefined;
  /** All of them belong to the condition. */
  readonly parameters: number;
}

interface Token {
  /** Words in upper case; names in quotes and other texts as they stand. */
  readonly text: string;
  readonly kind: 'word' | 'name' | 'other';
  readonly start: number;
  readonly end: number;
}

const TOKEN =
  /(?<gap>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|'(?:[^']|'')*'|[0-9.][\w.]*|[\s\S]/gu;
/** They make more of the rows than a choice, or give another answer each time they are asked. */
const REFUSED = new Set(
  `ALL SELECT GROUP ORDER LIMIT UNION EXCEPT INTERSECT WINDOW HAVING OVER MATCH REGEXP CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP`.split(
    ' ',
  ),
);
/** Keywords that may precede a bracket; other words there are names of functions. */
const BEFORE_BRACKET = new Set(
  'IN AND OR NOT LIKE GLOB BETWEEN IS WHEN THEN ELSE CASE ESCAPE FROM'.split(' '),
);
/** Parameters other than those that tokens of the document become. */
const PARAMETER = /^[:@$]/;

/** `undefined` when the query does anything else, or nothing certain can be said. */
export function readPlainQuery(sql: string): PlainQuery | undefined {
  const tokens = tokensOf(sql);
  const from = tokens.findIndex(({ kind, text }) => kind === 'word' && text === 'FROM');
  const [first, ...list] = tokens.slice(0, from);
  if (from === -1 || first?.text !== 'SELECT' || list.length === 0 || !isRowWise(list))
    return undefined;
  if (list.some(({ text }) => text === '(' || text === '?' || text === 'DISTINCT'))
    return undefined;
  const where = tokens.findIndex(({ kind, text }) => kind === 'word' && text === 'WHERE');
  const target = tokens
    .slice(from + 1, where === -1 ? undefined : where)
    .filter(({ text }) => text !== 'AS');
  const [table, alias, ...more] = target.map((token) => nameOf(sql, token));
  if (
    table === undefined ||
    more.length > 0 ||
    (target.length === 2 && alias === undefined) ||
    /^sqlite_/i.test(table)
  )
    return undefined;
  const condition = where === -1 ? undefined : tokens.slice(where + 1);
  if (condition !== undefined && (condition.length === 0 || !isRowWise(condition)))
    return undefined;
  const parameters = tokens.filter(({ text }) => text === '?').length;
  return {
    list: textOf(sql, list),
    table,
    name: alias ?? table,
    condition: condition && textOf(sql, condition),
    parameters,
  };
}

/**
 * The tables and rows as the query has them: those with a row id in a range whose ends are the last
 * two parameters.
 */
export function rangeOf({ table, name, condition }: PlainQuery, schema: string): string {
  const chosen = condition === undefined ? '' : `(${condition}) AND `;
  return `FROM ${quoteName(schema)}.${quoteName(table)} AS ${quoteName(name)} NOT INDEXED WHERE ${chosen}${rowIdOf({ name })} >= ? AND ${rowIdOf({ name })} <= ?`;
}

export function rowIdOf({ name }: Pick<PlainQuery, 'name'>): string {
  return `${quoteName(name)}.rowid`;
}

function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (const match of sql.matchAll(TOKEN)) {
    const [text] = match;
    const { gap, name, word } = match.groups ?? {};
    if (gap !== undefined) continue;
    const kind = name !== undefined ? 'name' : word !== undefined ? 'word' : 'other';
    tokens.push({
      text: kind === 'word' ? text.toUpperCase() : text,
      kind,
      start: match.index,
      end: match.index + text.length,
    });
  }
  while (tokens.at(-1)?.text === ';') tokens.pop();
  return tokens;
}

function isRowWise(tokens: readonly Token[]): boolean {
  return tokens.every(({ kind, text }, index) => {
    if (text === ';' || PARAMETER.test(text) || (kind === 'word' && REFUSED.has(text)))
      return false;
    const next = tokens[index + 1];
    return next?.text !== '(' || kind === 'other' || (kind === 'word' && BEFORE_BRACKET.has(text));
  });
}

function nameOf(sql: string, { kind, text, start, end }: Token): string | undefined {
  if (kind === 'word') return sql.slice(start, end);
  if (kind === 'other') return undefined;
  const inner = text.slice(1, -1);
  return text.startsWith('[')
    ? inner
    : inner.replaceAll(text.slice(0, 1).repeat(2), text.slice(0, 1));
}

function textOf(sql: string, tokens: readonly Token[]): string {
  return sql.slice(tokens[0]?.start ?? 0, tokens.at(-1)?.end ?? 0);
}
