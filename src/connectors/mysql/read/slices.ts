/** Parts of the result of a query by the values of one integer column. */
import { backticked } from '../../../lib/sql/mysql-address.ts';
import type { Slices } from '../../../kit/source.ts';
import { inner, keyColumn, spansCondition } from '../../_sql/key-spans.ts';
import type { MysqlSourceConfig } from '../config.ts';

const WHOLE = "'^-?[0-9]+$'";

export const mysqlSlices: Slices<MysqlSourceConfig> = {
  bounds: (config, key) => {
    const column = keyColumn(key, backticked);
    const strange = `count(CASE WHEN CAST(${column} AS CHAR) NOT REGEXP ${WHOLE} THEN 1 END)`;
    return asking(
      config,
      `SELECT min(${column}) AS low, max(${column}) AS high, ${strange} AS strange FROM ${inner(config.query, 'mysql')}`,
    );
  },
  within: (config, key, spans) =>
    asking(
      config,
      `SELECT * FROM ${inner(config.query, 'mysql')} WHERE ${spansCondition(key, spans, backticked)}`,
    ),
};

/** The same source with another query, and without incremental reading. */
function asking(config: MysqlSourceConfig, query: string): MysqlSourceConfig {
  return { ...config, query, replication: { type: 'full' } };
}
