/** Parts of the result of a query by the values of one integer column. */
import type { Slices } from '../../../kit/source.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { COMPARISONS, conditionOn } from '../../_sql/key-spans.ts';
import { withoutSemicolon } from '../../_sql/sql-text.ts';
import type { OracleSourceConfig } from '../config.ts';
import { storedName } from '../names.ts';
import { within } from './query.ts';

export const oracleSlices: Slices<OracleSourceConfig> = {
  bounds(config, key) {
    const column = quoteName(storedName(key));
    const strange = `COUNT(CASE WHEN NOT REGEXP_LIKE(TO_CHAR(${column}), '^-?[0-9]+$') THEN 1 END)`;
    return asking(
      config,
      (name) =>
        `SELECT MIN(${column}) AS "low", MAX(${column}) AS "high", ${strange} AS "strange" FROM ${name}`,
    );
  },
  within: (config, key, spans) =>
    asking(
      config,
      (name) =>
        `SELECT * FROM ${name} WHERE ${conditionOn(quoteName(storedName(key)), spans, COMPARISONS)}`,
    ),
};

/** The same source with a statement about its query, and without incremental reading. */
function asking(
  config: OracleSourceConfig,
  statement: (name: string) => string,
): OracleSourceConfig {
  const { source, name } = within(withoutSemicolon(config.query, 'oracle'), 'svc_part');
  return { ...config, query: `${source} ${statement(name)}`, replication: { type: 'full' } };
}
