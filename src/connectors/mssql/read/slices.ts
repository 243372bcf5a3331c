/** Parts of the result of a query by the values of one integer column. */
import type { KeySpan, Slices } from '../../../kit/source.ts';
import { bracketed } from '../../_mssql/quote.ts';
import { withoutSemicolon } from '../../_sql/sql-text.ts';
import type { MssqlSourceConfig } from '../config.ts';
import { within } from './query.ts';

export const mssqlSlices: Slices<MssqlSourceConfig> = {
  bounds(config, key) {
    const column = bracketed(key);
    const text = `CAST(${column} AS nvarchar(60))`;
    // A minus sign and digits, or digits alone.
    const strange = `COUNT(CASE WHEN ${text} LIKE N'%[^-0-9]%' OR ${text} LIKE N'_%-%' OR ${text} IN (N'', N'-') THEN 1 END)`;
    return asking(
      config,
      (name) =>
        `SELECT MIN(${column}) AS low, MAX(${column}) AS high, ${strange} AS strange FROM ${name}`,
    );
  },
  within: (config, key, spans) =>
    asking(config, (name) => `SELECT * FROM ${name} WHERE ${condition(key, spans)}`),
};

/** The same source with a statement about its query, and without incremental reading. */
function asking(config: MssqlSourceConfig, statement: (name: string) => string): MssqlSourceConfig {
  const { source, name } = within(withoutSemicolon(config.query, 'tsql'), 'svc_part');
  return { ...config, query: `${source} ${statement(name)}`, replication: { type: 'full' } };
}

/** There are no words for true and false. */
function condition(key: string, spans: readonly KeySpan[]): string {
  return spans.map((span) => `(${spanCondition(bracketed(key), span)})`).join(' OR ') || '1 = 0';
}

function spanCondition(column: string, { from, to, nulls }: KeySpan): string {
  const bounds = [
    ...(from === undefined ? [] : [`${column} >= ${from}`]),
    ...(to === undefined ? [] : [`${column} < ${to}`]),
  ];
  if (bounds.length === 0) return nulls ? '1 = 1' : `${column} IS NOT NULL`;
  return nulls ? `(${bounds.join(' AND ')}) OR ${column} IS NULL` : bounds.join(' AND ');
}
