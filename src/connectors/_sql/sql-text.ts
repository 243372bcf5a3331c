/**
 * Parses SQL just enough to separate code from quoted text, so that tokens become bind parameters
 * and never text.
 */

export interface SqlPiece {
  readonly kind: 'code' | 'literal' | 'identifier' | 'comment';
  readonly text: string;
}

/**
 * How quotes and comments are written: `mysql` has names in backticks, texts in either quote with
 * backslash escapes, `#` comments, and no nested ones. `bigquery` has three quotes around texts of
 * several lines besides, and `--` needs no blank. `tsql` (SQL Server) has names in brackets besides,
 * and no escapes. `spark` (Databricks) is like `mysql`, with nested comments and without `#`.
 * `oracle` has no escapes and no nested comments, and texts such as `q'[it's]'` besides.
 */
export type SqlWriting = 'standard' | 'mysql' | 'bigquery' | 'tsql' | 'spark' | 'oracle';

const ENDS_LITERAL = /(?:[^']|'')*'/y;
const ENDS_ESCAPED_LITERAL = /(?:[^'\\]|''|\\[^])*'/y;
const ENDS_IDENTIFIER = /(?:[^"]|"")*"/y;
const ENDS_LINE = /[^\n]*/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;

/** Splits a statement into pieces; joined again they are the same statement. */
export function sqlPieces(sql: string, writing: SqlWriting = 'standard'): SqlPiece[] {
  const quotedAt = QUOTED_AT[writing];
  const pieces: SqlPiece[] = [];
  let codeFrom = 0;
  let at = 0;
  while (at < sql.length) {
    const quoted = quotedAt(sql, at);
    if (quoted === undefined) {
      at += 1;
      continue;
    }
    if (at > codeFrom) pieces.push({ kind: 'code', text: sql.slice(codeFrom, at) });
    pieces.push({ kind: quoted.kind, text: sql.slice(at, quoted.end) });
    at = quoted.end;
    codeFrom = at;
  }
  if (codeFrom < sql.length) pieces.push({ kind: 'code', text: sql.slice(codeFrom) });
  return pieces;
}

type Quoted = { kind: SqlPiece['kind']; end: number } | undefined;

function standardQuotedAt(sql: string, at: number): Quoted {
  switch (sql[at]) {
    case "'":
      return {
        kind: 'literal',
        end: endOf(isEscapeString(sql, at) ? ENDS_ESCAPED_LITERAL : ENDS_LITERAL, sql, at + 1),
      };
    case '"':
      return { kind: 'identifier', end: endOf(ENDS_IDENTIFIER, sql, at + 1) };
    case '-':
      return sql[at + 1] === '-' ? { kind: 'comment', end: endOf(ENDS_LINE, sql, at) } : undefined;
    case '/':
      return sql[at + 1] === '*' ? { kind: 'comment', end: endOfBlockComment(sql, at) } : undefined;
    case '$':
      return dollarQuoteAt(sql, at);
    default:
      return undefined;
  }
}

const ENDS_BRACKETS = /(?:[^\]]|\]\])*\]/y;

function tsqlQuotedAt(sql: string, at: number): Quoted {
  switch (sql[at]) {
    case '[':
      return { kind: 'identifier', end: endOf(ENDS_BRACKETS, sql, at + 1) };
    case "'":
      return { kind: 'literal', end: endOf(ENDS_LITERAL, sql, at + 1) };
    case '$':
      return undefined;
    default:
      return standardQuotedAt(sql, at);
  }
}

const ENDS_TRIPLE: Readonly<Record<string, RegExp>> = {
  "'": /(?:[^'\\]|\\[^]|'(?!''))*'''/y,
  '"': /(?:[^"\\]|\\[^]|"(?!""))*"""/y,
};
const ENDS_BIGQUERY_TEXT: Readonly<Record<string, RegExp>> = {
  "'": /(?:[^'\\]|\\[^])*'/y,
  '"': /(?:[^"\\]|\\[^])*"/y,
};
const ENDS_BIGQUERY_NAME = /(?:[^`\\]|\\[^])*`/y;

function bigqueryQuotedAt(sql: string, at: number): Quoted {
  const mark = sql[at] as string;
  const text = ENDS_BIGQUERY_TEXT[mark];
  const triple = ENDS_TRIPLE[mark];
  if (triple !== undefined && sql.startsWith(mark.repeat(3), at))
    return { kind: 'literal', end: endOf(triple, sql, at + 3) };
  if (text !== undefined) return { kind: 'literal', end: endOf(text, sql, at + 1) };
  if (mark === '`') return { kind: 'identifier', end: endOf(ENDS_BIGQUERY_NAME, sql, at + 1) };
  if (mark === '#' || (mark === '-' && sql[at + 1] === '-'))
    return { kind: 'comment', end: endOf(ENDS_LINE, sql, at) };
  return mark === '/' && sql[at + 1] === '*'
    ? { kind: 'comment', end: endOf(ENDS_MYSQL_COMMENT, sql, at + 2) }
    : undefined;
}

const ENDS_MYSQL_TEXT: Readonly<Record<string, RegExp>> = {
  "'": ENDS_ESCAPED_LITERAL,
  '"': /(?:[^"\\]|""|\\[^])*"/y,
};
const ENDS_BACKTICKS = /(?:[^`]|``)*`/y;
const ENDS_MYSQL_COMMENT = /[^]*?\*\//y;

function mysqlQuotedAt(sql: string, at: number): Quoted {
  const mark = sql[at] as string;
  const text = ENDS_MYSQL_TEXT[mark];
  if (text !== undefined) return { kind: 'literal', end: endOf(text, sql, at + 1) };
  if (mark === '`') return { kind: 'identifier', end: endOf(ENDS_BACKTICKS, sql, at + 1) };
  if (mark === '#' || (mark === '-' && /^-(?:\s|$)/.test(sql.slice(at + 1, at + 3))))
    return { kind: 'comment', end: endOf(ENDS_LINE, sql, at) };
  return mark === '/' && sql[at + 1] === '*'
    ? { kind: 'comment', end: endOf(ENDS_MYSQL_COMMENT, sql, at + 2) }
    : undefined;
}

function sparkQuotedAt(sql: string, at: number): Quoted {
  switch (sql[at]) {
    case "'":
    case '"':
    case '`':
      return mysqlQuotedAt(sql, at);
    case '-':
    case '/':
      return standardQuotedAt(sql, at);
    default:
      return undefined;
  }
}

const OPENING = '[{(<';
const CLOSING = ']})>';

function oracleQuotedAt(sql: string, at: number): Quoted {
  switch (sql[at]) {
    case "'": {
      if (!/(?:^|[^\w$#])n?q$/i.test(sql.slice(Math.max(0, at - 3), at)))
        return { kind: 'literal', end: endOf(ENDS_LITERAL, sql, at + 1) };
      const mark = sql[at + 1] ?? '';
      const close = CLOSING[OPENING.indexOf(mark)] ?? mark;
      const end = sql.indexOf(`${close}'`, at + 2);
      return { kind: 'literal', end: end === -1 ? sql.length : end + 2 };
    }
    case '/':
      return sql[at + 1] === '*'
        ? { kind: 'comment', end: endOf(ENDS_MYSQL_COMMENT, sql, at + 2) }
        : undefined;
    case '$':
      return undefined;
    default:
      return standardQuotedAt(sql, at);
  }
}

function endOf(pattern: RegExp, sql: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(sql) ? pattern.lastIndex : sql.length;
}

/** `E'…'`: backslashes escape. The letter must not be the end of a longer word. */
function isEscapeString(sql: string, at: number): boolean {
  return /(?:^|[^A-Za-z0-9_$])[eE]$/.test(sql.slice(Math.max(0, at - 2), at));
}

/** Block comments nest. */
function endOfBlockComment(sql: string, from: number): number {
  let depth = 0;
  for (const mark of sql.slice(from).matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return from + mark.index + 2;
  }
  return sql.length;
}

function dollarQuoteAt(sql: string, at: number): { kind: 'literal'; end: number } | undefined {
  if (at > 0 && /[A-Za-z0-9_$]/.test(sql[at - 1] ?? '')) return undefined;
  DOLLAR_TAG.lastIndex = at;
  const tag = DOLLAR_TAG.exec(sql)?.[0];
  if (tag === undefined) return undefined;
  const close = sql.indexOf(tag, at + tag.length);
  return { kind: 'literal', end: close === -1 ? sql.length : close + tag.length };
}

const QUOTED_AT: Readonly<Record<SqlWriting, (sql: string, at: number) => Quoted>> = {
  standard: standardQuotedAt,
  mysql: mysqlQuotedAt,
  bigquery: bigqueryQuotedAt,
  tsql: tsqlQuotedAt,
  spark: sparkQuotedAt,
  oracle: oracleQuotedAt,
};

/** A statement without its final semicolon, for use inside another one. Comments stay. */
export function withoutSemicolon(sql: string, writing?: SqlWriting): string {
  const pieces = sqlPieces(sql, writing);
  const last = pieces.findLastIndex(({ kind, text }) => kind !== 'comment' && /[^;\s]/.test(text));
  return pieces
    .map(({ kind, text }, index) =>
      kind === 'code' && index >= last ? text.replace(/[;\s]+$/, ' ') : text,
    )
    .join('');
}

export interface TokenPlace {
  /** The text inside the token. */
  readonly name: string;
  /** The code directly before it, for checks of the operator. */
  readonly before: string;
}

export interface BoundSql {
  readonly sql: string;
  readonly tokens: readonly TokenPlace[];
  /**
   * Tokens in places where no value can be bound: inside a longer text, a quoted name or a comment.
   */
  readonly misplaced: readonly string[];
}

/**
 * Replaces each token that is alone or a whole quoted literal by a placeholder. `pattern` is global
 * and captures the name.
 */
export function bindTokens(
  sql: string,
  pattern: RegExp,
  placeholder: (index: number) => string,
): BoundSql {
  const tokens: TokenPlace[] = [];
  const misplaced: string[] = [];
  let out = '';
  const bind = (name: string, before: string): string => {
    tokens.push({ name, before });
    return placeholder(tokens.length - 1);
  };
  for (const piece of sqlPieces(sql)) {
    const whole = piece.kind === 'literal' ? wholeToken(piece.text, pattern) : undefined;
    if (piece.kind === 'code') {
      out += piece.text.replace(pattern, (...found: unknown[]) => {
        const offset = found[2] as number;
        return bind(found[1] as string, out + piece.text.slice(0, offset));
      });
    } else if (whole !== undefined) {
      out += bind(whole, out);
    } else {
      misplaced.push(...[...piece.text.matchAll(pattern)].map((match) => match[0]));
      out += piece.text;
    }
  }
  return { sql: out, tokens, misplaced };
}

function wholeToken(literal: string, pattern: RegExp): string | undefined {
  const inner = literal.slice(1, -1);
  const [match, second] = [...inner.matchAll(pattern)];
  return second === undefined && match?.[0] === inner ? match[1] : undefined;
}
