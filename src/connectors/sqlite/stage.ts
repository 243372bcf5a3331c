/** The table in which an overwrite collects its rows. */
import type { DatabaseSync } from 'node:sqlite';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { sqlPieces } from '../_sql/sql-text.ts';
import { readColumns } from './schema.ts';

/**
 * An empty table with the columns of the other one and its CHECK constraints, which then refuse a
 * page and not the whole at the end. Keys are not among them: the same ones may come again.
 */
export function stage(db: DatabaseSync, table: string, staging: string): void {
  const columns = (readColumns(db, table) ?? []).map(({ name, sqlType, nullable, fallback }) => {
    return `${quoteName(name)} ${sqlType}${nullable ? '' : ' NOT NULL'}${fallback === undefined ? '' : ` DEFAULT (${fallback})`}`;
  });
  const create = (lines: readonly string[]): void =>
    db.exec(`CREATE TABLE ${quoteName(staging)} (${lines.join(', ')})`);
  try {
    create([...columns, ...checksOf(db, table)]);
  } catch {
    // One that names a computed column, or the table, can only be looked at when rows are replaced.
    create(columns);
  }
}

function checksOf(db: DatabaseSync, table: string): string[] {
  const found = db
    .prepare("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE")
    .get(table);
  return checksIn(String(found?.['sql'] ?? ''));
}

/** The CHECK constraints of a statement that makes a table. */
export function checksIn(sql: string): string[] {
  const code = sqlPieces(sql, 'tsql')
    .map(({ kind, text }) => (kind === 'code' ? text : '_'.repeat(text.length)))
    .join('');
  return [...code.matchAll(/\bCHECK\s*\(/gi)].map(({ index, 0: { length } }) => {
    let depth = 1;
    let at = index + length;
    for (; depth > 0 && at < code.length; at += 1)
      depth += code[at] === '(' ? 1 : code[at] === ')' ? -1 : 0;
    return sql.slice(index, at);
  });
}
