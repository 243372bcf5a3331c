/** Statements of Databricks as the engine behind the fake reads them. */
import { sqlPieces } from '../../../src/connectors/_sql/sql-text.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  Z: '\u001A',
  '0': '\0',
};

/** What a literal stands for: a backslash begins an escape, and two quotes in a row are nothing. */
export function textOf(literal: string): string {
  return literal
    .slice(1, -1)
    .replaceAll(/''|\\u([0-9a-fA-F]{4})|\\([^])/g, (found, code?: string, char?: string) => {
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      return char === undefined ? (found === "''" ? '' : found) : (ESCAPES[char] ?? char);
    });
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const CODE: readonly (readonly [RegExp, string])[] = [
  [/\bSTRING\b/gi, 'VARCHAR'],
  [/\bBINARY\b/gi, 'BLOB'],
  [/\bTIMESTAMP\b(?!_)/gi, 'TIMESTAMPTZ'],
  [/\bTIMESTAMP_NTZ\b/gi, 'TIMESTAMP'],
  [/\bVARIANT\b/gi, 'JSON'],
  [/<=>/g, 'IS NOT DISTINCT FROM'],
  [/\braise_error\s*\(/gi, 'error('],
  [/\bunix_micros\s*\(/gi, 'epoch_us('],
  [/\bcurrent_timestamp\(\)/gi, 'now()'],
  [/\bparse_json\s*\(/gi, 'memory.main.fake_json('],
  [/\bstartswith\s*\(/gi, 'starts_with('],
  [/\bjava_method\s*\(/gi, 'concat('],
  [/\b(\d+)L\b/g, '$1'],
];

/** Lists count from zero. */
const ITEM = /(\bsvc_row|\))\[(\d+)\]/g;
const ROWS =
  /SELECT posexplode\(from_json\(('(?:[^']|'')*'), 'array<array<string>>'\)\) AS \(svc_place, svc_row\)/g;
const NESTED =
  /from_json\(((?:[^'()]|\([^)]*\)|'(?:[^']|'')*')+?), '([^']+)', map\('mode', 'FAILFAST'\)\)/g;
const CATALOG = /(?:"([^"]+)"\.)?\binformation_schema\.(columns|tables)\b/g;

export function translated(
  sql: string,
  parameters: ReadonlyMap<string, string> = new Map(),
): string {
  return sqlPieces(sql, 'spark')
    .map(({ kind, text }) => {
      if (kind === 'comment') return ' ';
      if (kind === 'identifier')
        return `"${text.slice(1, -1).replaceAll('``', '`').replaceAll('"', '""')}"`;
      if (kind === 'literal') return quoted(textOf(text));
      return CODE.reduce((out, [pattern, other]) => out.replaceAll(pattern, other), text)
        .replaceAll(ITEM, (_, list: string, at: string) => `${list}[${Number(at) + 1}]`)
        .replaceAll(/(?<![\w:\])]):([A-Za-z_]\w*)/g, (found, name: string) => {
          const value = parameters.get(name);
          return value ?? found;
        });
    })
    .join('')
    .replaceAll(
      ROWS,
      `SELECT unnest(range(len(l))) AS svc_place, unnest(l) AS svc_row FROM (SELECT from_json($1, '[["VARCHAR"]]') AS l)`,
    )
    .replaceAll(
      NESTED,
      (_, text: string, type: string) => `CAST(CAST(${text} AS JSON) AS ${engineType(type)})`,
    )
    .replaceAll(", map('ignoreNullFields', 'false')", '')
    .replaceAll("'array<string>'", `'["VARCHAR"]'`)
    .replaceAll(CATALOG, (_, catalog: string | undefined, view: string) => {
      const of = catalog === undefined ? 'current_database()' : quoted(catalog);
      return `(SELECT * FROM memory.main.fake_${view} WHERE table_catalog = ${of})`;
    });
}

/** `struct<a: array<int>>` as the engine writes it. */
function engineType(type: string): string {
  const [, kind = '', inner = ''] = /^(array|struct|map)<(.*)>$/is.exec(type.trim()) ?? [];
  const parts = splitTop(inner);
  switch (kind.toLowerCase()) {
    case 'array':
      return `${engineType(inner)}[]`;
    case 'map':
      return `MAP(${parts.map(engineType).join(', ')})`;
    case 'struct':
      return `STRUCT(${parts
        .map((part) => {
          const at = part.indexOf(':');
          return `"${part.slice(0, at).trim()}" ${engineType(part.slice(at + 1))}`;
        })
        .join(', ')})`;
    default:
      return translated(type);
  }
}

function splitTop(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const char of list) {
    if ('<('.includes(char)) depth += 1;
    if ('>)'.includes(char)) depth -= 1;
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}

/** The statements of a script, apart at its semicolons. */
export function statementsIn(sql: string): string[] {
  const statements = [''];
  for (const { kind, text } of sqlPieces(sql, 'spark')) {
    const [first = '', ...more] = kind === 'code' ? text.split(';') : [text];
    statements[statements.length - 1] += first;
    statements.push(...more);
  }
  return statements.map((one) => one.trim()).filter((one) => one !== '');
}

/** Milliseconds that a statement waits: `java_method('java.lang.Thread', 'sleep', 20000L)`. */
export function waitOf(sql: string): number {
  if (sql.endsWith('LIMIT 0')) return 0;
  return Number(/'java\.lang\.Thread', 'sleep', (\d+)L/.exec(sql)?.[1] ?? 0);
}
