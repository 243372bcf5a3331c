/**
 * Statements of Oracle as statements of PostgreSQL: as many as the connector and its tests send.
 * Other statements are refused.
 */
import { sqlPieces } from '../../../src/connectors/_sql/sql-text.ts';
import { parseType } from './types.ts';

export type Kind = 'query' | 'change' | 'definition' | 'lock' | 'setting';

export interface Translated {
  readonly kind: Kind;
  readonly sql: string;
  /** Types of the columns of a new table or of changed columns, as they were written. */
  readonly types?: { readonly table: string; readonly columns: ReadonlyMap<string, string> };
}

/** What cannot be translated, with the number of the error. */
export class Untranslatable extends Error {
  readonly number: number;

  constructor(number: number, message: string) {
    super(message);
    this.number = number;
  }
}

/** Words that are no names. Functions of PostgreSQL with the meaning of Oracle's are among them. */
const KEYWORDS = new Set(
  `SELECT FROM WHERE AND OR NOT NULL IS IN EXISTS AS ON JOIN LEFT INNER ORDER BY GROUP HAVING UNION ALL DISTINCT WITH CASE WHEN THEN
  ELSE END INSERT INTO VALUES UPDATE SET DELETE MERGE USING MATCHED FOR LIKE BETWEEN ASC DESC FETCH FIRST ROWS ONLY CREATE UNIQUE INDEX
  COUNT MIN MAX SUM COALESCE UPPER LOWER LENGTH MOD CAST TRUE FALSE LOCK TABLE SHARE ROW EXCLUSIVE MODE PRIMARY KEY DEFAULT CHECK REFERENCES NULLS LAST
  CONSTRAINT`.split(/\s+/),
);
const WITHOUT_PARENTHESES = new Set(['SYSTIMESTAMP', 'SYSDATE']);
const WORD = /:\s*(\w+)|[A-Za-z][\w$#]*/g;

/** The statement with names as they are in PostgreSQL: those without quotes in capital letters. */
function plain(sql: string, slot: (name: string) => string): string {
  return sqlPieces(sql, 'oracle')
    .map(({ kind, text }) => {
      if (kind === 'comment') return ' ';
      // There is no empty text.
      if (kind === 'literal') return text === "''" ? 'NULL' : text;
      if (kind === 'identifier') return text;
      return text.replaceAll(WORD, (word, bind: string | undefined) => {
        if (bind !== undefined) return slot(bind);
        const name = word.toUpperCase();
        if (KEYWORDS.has(name)) return name;
        return `"${name}"${WITHOUT_PARENTHESES.has(name) ? '()' : ''}`;
      });
    })
    .join('');
}

const NAME = String.raw`(?:"(?:[^"]|"")+"|[A-Za-z][\w$#]*)`;
const TABLE = String.raw`(?:${NAME}\.)?${NAME}`;
const SETTINGS =
  /^ALTER SESSION SET(?:\s+(?:TIME_ZONE|NLS_NUMERIC_CHARACTERS|NLS_SORT|NLS_COMP)\s*=\s*'[^']*')+$/i;

export function translate(statement: string, slot: (name: string) => string): Translated {
  const sql = statement.trim();
  const [, first = ''] = /^(\w+)/.exec(sql) ?? [];
  switch (first.toUpperCase()) {
    case 'SELECT':
    case 'WITH':
      return { kind: 'query', sql: plain(sql, slot) };
    case 'INSERT':
    case 'UPDATE':
    case 'DELETE':
    case 'MERGE':
      return { kind: 'change', sql: plain(sql, slot) };
    case 'LOCK':
      return { kind: 'lock', sql: plain(sql, slot) };
    case 'CREATE':
      return /^CREATE\s+UNIQUE\s+INDEX\b/i.test(sql)
        ? { kind: 'definition', sql: plain(sql, slot) }
        : madeTable(sql);
    case 'ALTER':
      return SETTINGS.test(sql) ? { kind: 'setting', sql: '' } : changedTable(sql);
    case 'DROP':
      return droppedTable(sql);
    default:
      throw new Untranslatable(900, 'invalid SQL statement');
  }
}

function droppedTable(sql: string): Translated {
  const [, table] = new RegExp(`^DROP\\s+TABLE\\s+(${TABLE})(?:\\s+PURGE)?$`, 'i').exec(sql) ?? [];
  if (table === undefined) throw new Untranslatable(950, 'invalid DROP option');
  return { kind: 'definition', sql: `DROP TABLE ${named(table)}` };
}

function named(name: string): string {
  return plain(name, () => '');
}

function madeTable(sql: string): Translated {
  const [, table, body] =
    new RegExp(`^CREATE\\s+TABLE\\s+(${TABLE})\\s*\\(([^]*)\\)$`, 'i').exec(sql) ?? [];
  if (table === undefined || body === undefined)
    throw new Untranslatable(901, 'invalid CREATE command');
  const columns = new Map<string, string>();
  const lines = listed(body).map((line) => lineOf(line, columns));
  const name = named(table);
  return {
    kind: 'definition',
    sql: `CREATE TABLE ${name} (${lines.join(', ')})`,
    types: { table: name, columns },
  };
}

function changedTable(sql: string): Translated {
  const [, table, action = ''] =
    new RegExp(`^ALTER\\s+TABLE\\s+(${TABLE})\\s+([^]*)$`, 'i').exec(sql) ?? [];
  if (table === undefined) throw new Untranslatable(940, 'invalid ALTER command');
  const name = named(table);
  const [, to] = new RegExp(`^RENAME\\s+TO\\s+(${NAME})$`, 'i').exec(action) ?? [];
  if (to !== undefined)
    return { kind: 'definition', sql: `ALTER TABLE ${name} RENAME TO ${named(to)}` };
  const [, verb = '', body] = /^(ADD|MODIFY)\s*\(([^]*)\)$/i.exec(action) ?? [];
  if (body === undefined) throw new Untranslatable(1735, 'invalid ALTER TABLE option');
  const columns = new Map<string, string>();
  const changes = listed(body).flatMap((line) =>
    /^add$/i.test(verb) ? [`ADD COLUMN ${lineOf(line, columns)}`] : modified(line, columns),
  );
  return {
    kind: 'definition',
    sql: `ALTER TABLE ${name} ${changes.join(', ')}`,
    types: { table: name, columns },
  };
}

function modified(line: string, columns: Map<string, string>): string[] {
  const [, written = '', rest = ''] = new RegExp(`^\\s*(${NAME})\\s*([^]*)$`).exec(line) ?? [];
  const name = named(written);
  const [, type = '', nulls = ''] = /^([^]*?)\s*(NOT NULL|NULL)?$/i.exec(rest.trim()) ?? [];
  const changes: string[] = [];
  if (type !== '') {
    const known = parseType(type);
    if (known === undefined) throw new Untranslatable(902, 'invalid datatype');
    columns.set(bare(name), known.written);
    changes.push(
      `ALTER COLUMN ${name} TYPE ${known.behind} USING ${name}::text::${known.behind.replace(/ COLLATE.*/, '')}`,
    );
  }
  if (nulls !== '')
    changes.push(`ALTER COLUMN ${name} ${/^NOT/i.test(nulls) ? 'SET' : 'DROP'} NOT NULL`);
  return changes;
}

const TYPE =
  /^(?:TIMESTAMP(?:\s*\(\d\))?(?:\s+WITH\s+(?:LOCAL\s+)?TIME\s+ZONE)?|INTERVAL\s+YEAR\s*(?:\(\d\))?\s+TO\s+MONTH|INTERVAL\s+DAY\s*(?:\(\d\))?\s+TO\s+SECOND\s*(?:\(\d\))?|\w+\s*(?:\([^)]*\))?)/i;

function lineOf(line: string, columns: Map<string, string>): string {
  const text = line.trim();
  if (/^(?:PRIMARY\s+KEY|UNIQUE|CONSTRAINT|CHECK)\b/i.test(text)) return named(text);
  const [, written = '', rest = ''] = new RegExp(`^(${NAME})\\s+([^]*)$`).exec(text) ?? [];
  const [type = ''] = TYPE.exec(rest) ?? [];
  const known = parseType(type);
  if (known === undefined) throw new Untranslatable(902, `invalid datatype ${rest}`);
  const name = named(written);
  columns.set(bare(name), known.written);
  const more = options(rest.slice(type.length));
  return `${name} ${/AS IDENTITY/i.test(more) ? 'bigint' : known.behind}${more}`;
}

function options(rest: string): string {
  const identity = /^\s*GENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY/i.exec(rest);
  if (identity !== null) return ` ${identity[0].trim()}${named(rest.slice(identity[0].length))}`;
  const computed = /^\s*(?:GENERATED\s+ALWAYS\s+)?AS\s*(\([^]*\))\s*$/i.exec(rest);
  if (computed !== null) return ` GENERATED ALWAYS AS ${named(computed[1] ?? '')} STORED`;
  return named(rest);
}

export function bare(name: string): string {
  return name.slice(1, -1).replaceAll('""', '"');
}

/** Parts between the commas outside of parentheses and quotes. */
function listed(body: string): string[] {
  const lines: string[] = [''];
  let depth = 0;
  for (const { kind, text } of sqlPieces(body, 'oracle'))
    for (const part of kind === 'code' ? text : [text]) {
      if (part === '(') depth += 1;
      if (part === ')') depth -= 1;
      if (part === ',' && depth === 0) lines.push('');
      else lines.push((lines.pop() ?? '') + part);
    }
  return lines;
}
