/** Parts of the result of a query by the values of one integer column. */
import type { Slices } from '../../../kit/source.ts';
import { bracketed } from '../../_mssql/quote.ts';
import { COMPARISONS, conditionOn } from '../../_sql/key-spans.ts';
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
    asking(
      config,
      (name) => `SELECT * FROM ${name} WHERE ${conditionOn(bracketed(key), spans, COMPARISONS)}`,
    ),
};

/** The same source with a statement about its query, and without incremental reading. */
function asking(config: MssqlSourceConfig, statement: (name: string) => string): MssqlSourceConfig {
  const { source, name } = within(withoutSemicolon(config.query, 'tsql'), 'svc_part');
  return { ...config, query: `${source} ${statement(name)}`, replication: { type: 'full' } };
}
