/**
 * Parts of the result of a query, by an integer column. SQLite has no digest function, so digests
 * are computed here.
 */
import { openSqlite } from '../../lib/sql/sqlite.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { ColumnHolds, ResultShape, Slices } from '../../kit/source.ts';
import { inner, keyColumn, spansCondition } from '../_sql/key-spans.ts';
import type { SqliteSourceConfig } from './config.ts';
import { prepareQuery } from './query.ts';

/** Uses the declared types; an expression can have any. */
export function describeResult(config: SqliteSourceConfig, context: SourceContext): ResultShape {
  const db = openSqlite(config.database_url, { mode: 'ro', cwd: context.env.cwd });
  try {
    const { statement } = prepareQuery(db, config.query, context);
    return {
      columns: statement.columns().map(({ name, type }) => ({
        name,
        type: type ?? '',
        holds: holdsOf(type ?? ''),
        affinity: affinityOf(type ?? ''),
      })),
    };
  } finally {
    db.close();
  }
}

/** By the rules of SQLite (https://www.sqlite.org/datatype3.html#determination_of_column_affinity). */
function affinityOf(declared: string): string {
  if (/int/i.test(declared)) return 'integer';
  if (/char|clob|text/i.test(declared)) return 'text';
  if (declared === '' || /blob/i.test(declared)) return 'blob';
  return /real|floa|doub/i.test(declared) ? 'real' : 'numeric';
}

/**
 * Texts are parsed as JSON in every column, so only columns that convert texts to numbers differ.
 */
function holdsOf(declared: string): ColumnHolds {
  return /int|real|floa|doub|dec|num|bool/i.test(declared) && !/char|clob|text/i.test(declared)
    ? 'numbers'
    : 'json';
}

export const sqliteSlices: Slices<SqliteSourceConfig> = {
  bounds: (config, key) => {
    const column = keyColumn(key);
    const strange = `coalesce(sum(typeof(${column}) NOT IN ('integer', 'null')), 0)`;
    return {
      ...config,
      query: `SELECT min(${column}) AS low, max(${column}) AS high, ${strange} AS strange FROM ${inner(config.query)}`,
    };
  },
  within: (config, key, spans) => ({
    ...config,
    query: `SELECT * FROM ${inner(config.query)} WHERE ${spansCondition(key, spans)}`,
  }),
};
