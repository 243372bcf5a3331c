/** Statements of Snowflake as the engine behind the fake reads them. */

export interface Piece {
  readonly kind: 'code' | 'literal' | 'name';
  readonly text: string;
}

const PIECE = /'(?:[^'\\]|''|\\[^])*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\/|[^'"\-/]+|[-/]/g;

function piecesOf(sql: string): Piece[] {
  const pieces: Piece[] = [];
  for (const [found] of sql.matchAll(PIECE)) {
    const kind = found.startsWith("'") ? 'literal' : found.startsWith('"') ? 'name' : 'code';
    const text = /^(?:--|\/\*)/.test(found) ? ' ' : found;
    const last = pieces.at(-1);
    if (kind === 'code' && last?.kind === 'code')
      pieces[pieces.length - 1] = { kind, text: last.text + text };
    else pieces.push({ kind, text });
  }
  return pieces;
}

/** The statements of a text. */
export function statementsIn(sql: string): string[] {
  const statements = [''];
  for (const { kind, text } of piecesOf(sql)) {
    const [first = '', ...more] = kind === 'code' ? text.split(';') : [text];
    statements[statements.length - 1] += first;
    statements.push(...more);
  }
  return statements.map((one) => one.trim()).filter((one) => one !== '');
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' };

/** What a literal of Snowflake stands for: a backslash begins an escape. */
export function textOf(literal: string): string {
  return literal
    .slice(1, -1)
    .replaceAll(/''|\\([^])/g, (found, char: string | undefined) =>
      char === undefined ? (found === "''" ? "'" : found) : (ESCAPES[char] ?? char),
    );
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/\bNUMBER\b(?!\s*\()/gi, 'DECIMAL(38,0)'],
  [/\bNUMBER\s*\(/gi, 'DECIMAL('],
  [/\b(?:VARIANT|OBJECT|ARRAY)\b/gi, 'JSON'],
  [/\bTIMESTAMP_NTZ(?:\(9\))/gi, 'TIMESTAMP_NS'],
  [/\bTIMESTAMP_NTZ(?:\(\d\))?/gi, 'TIMESTAMP'],
  [/\bTIMESTAMP_L?TZ(?:\(\d\))?/gi, 'TIMESTAMPTZ'],
  [/\bTIME\(\d\)/gi, 'TIME'],
  [/\bBINARY\b/gi, 'BLOB'],
  [/\bSTRING\b/gi, 'VARCHAR'],
  [/\bFLOAT\b/gi, 'DOUBLE'],
  [/\bSYSDATE\(\)/gi, "(now() AT TIME ZONE 'UTC')"],
  [/\bPARSE_JSON\s*\(/gi, 'memory.main.fake_json('],
  [/\bTO_BINARY\s*\(/gi, 'memory.main.fake_binary('],
  // The engine gives null, where Snowflake fails.
  [/\b1 \/ COUNT\(\*\)/gi, "CASE WHEN count(*) = 0 THEN error('Division by zero') ELSE 1 END"],
  [/\bSYSTEM\$WAIT\(\d+\)/gi, '1'],
  [/\bINFORMATION_SCHEMA\s*\.\s*(COLUMNS|TABLES)\b/gi, 'fake_$1'],
];

export function translated(sql: string): string {
  return piecesOf(sql)
    .map(({ kind, text }) => {
      if (kind === 'name') return text;
      if (kind === 'literal') return quoted(textOf(text));
      return TYPES.reduce((out, [pattern, type]) => out.replaceAll(pattern, type), text);
    })
    .join('')
    .replaceAll(/"[^"]+"\.fake_/g, 'memory.main.fake_');
}

/** Seconds that the statement waits. */
export function waitOf(sql: string): number {
  return Number(/\bSYSTEM\$WAIT\((\d+)\)/i.exec(sql)?.[1] ?? 0);
}
